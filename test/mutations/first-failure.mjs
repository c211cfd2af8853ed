// A test environment in which a spec skips its other tests after one has failed: `--bail` ends a run only after whole specs,
// and with a fault, each of their tests may wait until it times out.
import { TestEnvironment } from 'jest-environment-node';

export default class FirstFailure extends TestEnvironment {
  #hasFailed = false;

  handleTestEvent({ name, test }) {
    if (name === 'test_start' && this.#hasFailed) test.mode = 'skip';
    if (name === 'test_fn_failure') this.#hasFailed = true;
  }
}
