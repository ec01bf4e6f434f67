import type { DataDirectory } from '../src/platform/embedded-postgres/cluster/data-directory.ts'
import { listServerProcesses } from '../src/platform/embedded-postgres/postmaster.ts'

/**
 * Kills the postmaster and all processes of its server, without a delay in between: the survivors start an orderly
 * cleanup as soon as one of them has died.
 */
export function killPostgres(folder: DataDirectory): void {
  for (const pid of listServerProcesses(folder)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has already exited.
    }
  }
}
