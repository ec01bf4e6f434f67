import type { DataDirectory } from '../src/platform/embedded-postgres/cluster/data-directory.ts'
import { listServerProcesses } from '../src/platform/embedded-postgres/postmaster.ts'

/** Kills the postmaster and every process of its server. The first that dies would make the others clean up, so it is quick. */
export function killServer(folder: DataDirectory): number {
  const pids = listServerProcesses(folder)
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It went by itself.
    }
  }
  return pids.length
}
