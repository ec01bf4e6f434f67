import type { ChildProcess } from 'node:child_process'

/** Kills a child if this process exits before it. */
export function killAtExit(child: ChildProcess): void {
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
}
