import { describe, expect, it } from '@jest/globals';
import { withMaskedSubjects } from './masked.js';

describe('a message on the page', () => {
  it.each([
    'live rule "login" for subject "ann@example.com".limit: got 0; allowed: an integer from 1',
    'live rule "login" for subject ["ann@example.com","203.0.113.7"]: unknown',
    'subject of live rule "login": got "ann@example.com"; allowed: an IP address',
    'rule "login" of Auth.login.by: got {"email":"ann@example.com"}; allowed: a string or a number. Such a request',
    'rule "login" of Auth.login.subjectOf: got ["ann@example.com"]; allowed: a string or a number. Such a request',
    'rule "login" of Auth.login.plan: threw "no user ann@example.com". In shadow mode, such a request',
  ])('has no subject: %s', (message) => {
    expect(withMaskedSubjects(message)).not.toContain('example.com');
    expect(withMaskedSubjects(message)).toContain('rule "login"');
  });

  it.each([
    'a text of an operator, for subject {x}',
    'rule "login".limit: got "ten"; allowed: an integer from 0',
  ])('stays readable: %s', (message) => {
    expect(withMaskedSubjects(message).length).toBeGreaterThan(message.length / 2);
  });
});
