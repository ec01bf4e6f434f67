import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

export type BenchServer = { url: string; pid: number; stop(): Promise<void> }

/** Starts one of the scripts of this folder as a process of its own, so that its processor time is its own. */
export async function startServer(script: string, environment: Record<string, string>): Promise<BenchServer> {
  const child: ChildProcess = fork(new URL(script, import.meta.url), {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, ...environment },
  })
  const url = await Promise.race([
    once(child, 'message').then(([address]) => address as string),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`${script} ended with ${code} before it was ready`))),
  ])
  return {
    url,
    pid: child.pid as number,
    async stop() {
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
    },
  }
}
