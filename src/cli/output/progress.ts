import { SingleBar } from 'cli-progress';
import { shorten } from './fit.ts';
import { printable } from './printable.ts';
import { columnsOf } from './text-look.ts';

/** How far long work is. Closing it leaves nothing on the terminal. */
export interface Progress extends Disposable {
  /** There are so many steps, none of which is done. */
  begin(total: number): void;
  /** One more is done; `name` is what it was about. */
  step(name: string): void;
}

/** Where nobody watches. */
export const noProgress: Progress = {
  begin: () => undefined,
  step: () => undefined,
  [Symbol.dispose]: () => undefined,
};

const barWidth = 20;

/**
 * A bar on a terminal, one line that is gone when it is closed and also when Ctrl-C ends the process. The cursor stays as
 * it is and no line is wrapped, so that even a kill leaves the terminal usable.
 */
export function progressOn(terminal: NodeJS.WriteStream, verb: string): Progress {
  const bar = new SingleBar({
    stream: terminal,
    format: `${verb} {bar} {value} of {total}{doing}`,
    barsize: barWidth,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    clearOnComplete: true,
    linewrap: true,
  });
  const room = columnsOf(terminal) - `${verb} ${' '.repeat(barWidth)} 000 of 000, `.length;
  const doing = (name: string) => ({ doing: room < 8 ? '' : `, ${shorten(printable(name), room)}` });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const onSignal = (signal: NodeJS.Signals) => {
    close();
    process.kill(process.pid, signal); // As if nobody had listened.
  };
  const close = () => {
    bar.stop();
    for (const signal of signals) process.off(signal, onSignal);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return {
    begin: (total) => bar.start(total, 0, { doing: '' }),
    step: (name) => bar.increment(1, doing(name)),
    [Symbol.dispose]: close,
  };
}
