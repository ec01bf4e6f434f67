import { listServerProcesses } from '../src/platform/embedded-postgres/postmaster.ts'

/**
 * Kills the postmaster and all processes of the server with this data folder, without a delay in between: the survivors
 * start an orderly cleanup as soon as one of them has died.
 */
export function killPostgres(dataFolder: string): void {
  for (const pid of listServerProcesses({ data: dataFolder })) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has already exited.
    }
  }
}
