import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

export type ServerProcess = {
  url: string
  pid: number
  /** Collects the garbage of a Parley server, and returns the heap that it uses then. */
  readLiveHeapMb(): Promise<number>
  /** Sends a command to a Parley server and returns its answer. */
  ask<Answer>(command: 'metrics' | 'no metrics' | 'scrape'): Promise<Answer>
  stop(): Promise<void>
}

/** Starts a script of this folder in a child process, whose processor time can be measured separately. */
export async function startServer(script: string, environment: Record<string, string>): Promise<ServerProcess> {
  const child: ChildProcess = fork(new URL(script, import.meta.url), {
    execArgv: ['--max-semi-space-size=64', '--import', 'tsx'],
    env: { ...process.env, ...environment },
  })
  const url = await Promise.race([
    once(child, 'message').then(([message]) => message as string),
    once(child, 'exit').then(([code]) =>
      Promise.reject(new Error(`${script} exited with code ${code} before it was ready`)),
    ),
  ])
  return {
    url,
    pid: child.pid as number,
    readLiveHeapMb: async () => Number(await ask(child, 'heap')) / 1024 ** 2,
    ask: (command) => ask(child, command),
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}

async function ask<Answer>(child: ChildProcess, command: string): Promise<Answer> {
  const answered = once(child, 'message')
  child.send(command)
  const [answer] = (await answered) as [Answer]
  return answer
}
