import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { freePort } from './free-port.ts'
import { killAtExit } from './kill-at-exit.ts'
import { createTempDir } from './temp-dir.ts'

/** A Redis server that a test may kill and pause. */
export type TestRedis = {
  url: string
  /** Kills the server. Acknowledged writes are on disk. */
  kill(): Promise<void>
  /** Starts it again on the same port with its data. */
  restart(): Promise<void>
  /** Keeps its connections open without responding. */
  pause(): void
  resume(): void
  stop(): Promise<void>
}

/** Returns undefined where redis-server is not installed, which is an error if CI is set: tests must not be skipped there. */
export async function startRedis(): Promise<TestRedis | undefined> {
  if (spawnSync('redis-server', ['--version']).status !== 0) {
    if (process.env['CI'])
      throw new Error('redis-server is not on the PATH, and CI must not skip the tests that need it')
    process.stderr.write('\n  !!! SKIPPED: no redis-server on the PATH, so the Redis tests are skipped\n\n')
    return undefined
  }
  const port = await freePort()
  const folder = createTempDir()
  let server = await launch(port, folder.path)
  return {
    url: `redis://127.0.0.1:${port}`,
    kill: () => end(server),
    async restart() {
      server = await launch(port, folder.path)
    },
    pause: () => void server.kill('SIGSTOP'),
    resume: () => void server.kill('SIGCONT'),
    async stop() {
      await end(server)
      await folder.remove()
    },
  }
}

async function launch(port: number, folder: string): Promise<ChildProcess> {
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '']
  const address = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder]
  const server = spawn('redis-server', [...address, ...durable], { stdio: ['ignore', 'pipe', 'ignore'] })
  killAtExit(server)
  for await (const line of createInterface(server.stdout)) {
    if (!line.includes('Ready to accept connections')) continue
    server.stdout.resume()
    return server
  }
  throw new Error(`redis-server did not start on port ${port}`)
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const exited = once(server, 'exit')
  server.kill('SIGKILL')
  await exited
}
