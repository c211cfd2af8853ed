import { after, type Timer } from '../contracts/timer.js';

/** A pause that can be ended, also before it begins. */
export class Pause {
  private isEnded = false;
  private resolve: (() => void) | undefined;

  readonly end = (): void => {
    this.isEnded = true;
    this.resolve?.();
  };

  async last(milliseconds: number): Promise<void> {
    if (!this.isEnded) {
      let timer: Timer | undefined;
      await new Promise<void>((resolve) => {
        this.resolve = resolve;
        timer = after(Math.max(1, milliseconds), resolve, true);
      });
      timer?.stop();
      this.resolve = undefined;
    }
    this.isEnded = false;
  }
}
