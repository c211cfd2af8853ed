import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { post } from './request.js';

afterEach(() => void jest.restoreAllMocks());

function answerWith(body: string, status: number): void {
  jest.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response(body, { status }));
}

describe('a change that the operations page sends', () => {
  it.each(['', '<!doctype html>', '{'])(
    'has failed if the answer is %j, whatever its status is',
    async (body) => {
      for (const status of [200, 201]) {
        answerWith(body, status);
        await expect(post('rules/set', {})).rejects.toThrow('The answer of the application cannot be read');
      }
      answerWith(body, 502);
      await expect(post('rules/set', {})).rejects.toThrow('The application answered 502');
    },
  );

  it('has the reply of the application, or its message', async () => {
    answerWith('{"version":7}', 200);
    expect(await post('rules/set', {})).toEqual({ version: 7 });
    answerWith('{"message":"no"}', 422);
    await expect(post('rules/set', {})).rejects.toThrow(/^no$/);
  });
});
