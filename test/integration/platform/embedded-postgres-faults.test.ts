import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { dataDirectory, serverAccount } from '../../../src/platform/embedded-postgres/data-directory.ts'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { readPostmaster } from '../../../src/platform/embedded-postgres/postmaster.ts'
import { processIdentity } from '../../../src/platform/embedded-postgres/pid-files.ts'
import {
  queryRow,
  copyDataDir,
  discardClusters,
  discardPreparedCluster,
  createEmptyDataDir,
  hasRunningServer,
  startServer,
  createInitializedDataDir,
} from '../../support/embedded-clusters.ts'
import { EmbeddedPostgresProcess } from '../../support/fork-embedded-postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ACKNOWLEDGED = 200
const foreignProcesses: ChildProcess[] = []

describe('embedded PostgreSQL after processes are killed', () => {
  afterEach(async () => {
    for (const child of foreignProcesses.splice(0)) child.kill('SIGKILL')
    await discardClusters()
  })
  after(discardPreparedCluster)

  it('keeps every acknowledged write when its holder is killed and is adopted by the next holder', async () => {
    const dataDir = await createInitializedDataDir()
    const { holder, pid, written } = await startWriter(dataDir)
    await holder.kill()
    const next = await startServer(dataDir)
    expect([next.adopted, next.pid]).to.deep.equal([true, pid])
    expect(await countWritten(next.connectionString)).to.be.at.least(written())
    await next.stop()
    expect(hasRunningServer(dataDir)).to.equal(false)
  })

  it('keeps every acknowledged write when server and holder are killed', async () => {
    const dataDir = await createInitializedDataDir()
    const { holder, pid, written } = await startWriter(dataDir)
    process.kill(pid, 'SIGKILL')
    await holder.kill()
    expect(readPostmaster(dataDirectory(dataDir))?.pid).to.equal(pid)
    const next = await startServer(dataDir)
    expect([next.adopted, next.pid === pid]).to.deep.equal([false, false])
    expect(await countWritten(next.connectionString)).to.be.at.least(written())
  })

  it('restarts on the same port for its surviving holders when the server is killed', async () => {
    const dataDir = await createInitializedDataDir()
    const survivor = await startServer(dataDir)
    process.kill(survivor.pid, 'SIGKILL')
    await waitUntil(() => !hasRunningServer(dataDir))
    await new EmbeddedPostgresProcess(dataDir).next('started')
    expect(await queryRow(survivor.connectionString, 'select 1 as one')).to.deep.equal({ one: 1 })
  })

  it('starts only after a backend that outlives the killed server has ended', async () => {
    const dataDir = await createInitializedDataDir()
    const first = await startServer(dataDir)
    await withClient(first.connectionString, async (client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      const busy = client.query(BUSY).catch(() => undefined)
      await waitUntil(() => isBusy(first.adminConnectionString))
      process.kill(first.pid, 'SIGKILL')
      await waitUntil(() => !hasRunningServer(dataDir))
      const starting = startServer(dataDir)
      const readLog = () => fs.readFileSync(dataDirectory(dataDir).log, 'utf8')
      await waitUntil(() => readLog().includes('pre-existing shared memory block'))
      process.kill(Number(rows[0]?.pid), 'SIGKILL')
      const next = await starting
      expect(await queryRow(next.connectionString, 'select 1 as one')).to.deep.equal({ one: 1 })
      await busy
    })
  })

  it('is created again when the process that creates it is killed', async () => {
    const dataDir = createEmptyDataDir()
    const folder = dataDirectory(dataDir)
    const holder = new EmbeddedPostgresProcess(dataDir)
    const unfinished = () =>
      (fs.existsSync(folder.root) ? fs.readdirSync(folder.root) : []).find((name) => name.startsWith('data.'))
    await waitUntil(() => unfinished() !== undefined)
    await holder.kill()
    expect(fs.readdirSync(folder.lock)).to.have.length(1)
    const next = await startServer(dataDir)
    expect(await queryRow(next.connectionString, 'select 1 as one')).to.deep.equal({ one: 1 })
    expect(unfinished()).to.equal(undefined)
    expect(fs.readdirSync(folder.lock)).to.deep.equal([])
  })

  it('is stopped by the last living holder although a killed holder left its file', async () => {
    const dataDir = await createInitializedDataDir()
    const [killed, living] = [new EmbeddedPostgresProcess(dataDir), new EmbeddedPostgresProcess(dataDir)]
    await Promise.all([killed.next('started'), living.next('started')])
    await killed.kill()
    expect(fs.readdirSync(dataDirectory(dataDir).clients)).to.have.length(2)
    await living.stop()
    expect(hasRunningServer(dataDir)).to.equal(false)
  })

  it('does not treat a process with a reused PID as a holder', async () => {
    const dataDir = await createInitializedDataDir()
    const server = await startServer(dataDir)
    fs.writeFileSync(path.join(dataDirectory(dataDir).clients, `${process.ppid}.other-start-token.0`), '')
    await server.stop()
    expect(hasRunningServer(dataDir)).to.equal(false)
  })

  describe('with a stale postmaster.pid', () => {
    it('starts when its PID now belongs to another program', async () => {
      const dataDir = await createInitializedDataDir()
      leavePidFile(dataDir, await spawnForeignProcess(dataDir, 'exec sleep 60'))
      expect((await startServer(dataDir)).adopted).to.equal(false)
    })

    it('starts when its PID belongs to a zombie process', async function () {
      if (process.platform !== 'linux') return this.skip()
      const dataDir = await createInitializedDataDir()
      const parent = await spawnForeignProcess(dataDir, 'true & exec sleep 60')
      const children = `/proc/${parent}/task/${parent}/children`
      const zombie = () => Number(fs.readFileSync(children, 'utf8'))
      await waitUntil(() => zombie() > 0 && processIdentity(zombie()) === undefined)
      leavePidFile(dataDir, zombie())
      expect((await startServer(dataDir)).adopted).to.equal(false)
    })

    it('does not adopt the server of the data directory it was copied from', async () => {
      const [original, copy] = [await createInitializedDataDir(), createEmptyDataDir()]
      const server = await startServer(original)
      await queryRow(server.connectionString, 'create table only_here ()')
      copyDataDir(original, copy)
      const other = await startServer(copy)
      expect(other.adopted).to.equal(false)
      expect([other.pid, other.port]).not.to.include.members([server.pid, server.port])
      await other.stop()
      expect(await queryRow(server.connectionString, 'select from only_here')).to.deep.equal({})
    })
  })
})

/** Longer than any test. */
const BUSY = `do $$
declare finish timestamptz := clock_timestamp() + interval '1 minute';
begin while clock_timestamp() < finish loop end loop; end $$`

async function isBusy(url: string): Promise<boolean> {
  const busy = `select count(*)::int as busy from pg_stat_activity where query like 'do $$%' and state = 'active'`
  return (await queryRow(url, busy))['busy'] === 1
}

async function startWriter(dataDir: string) {
  const holder = new EmbeddedPostgresProcess(dataDir)
  const { pid } = await holder.next('started')
  holder.send('write')
  await holder.next('written', ({ id }) => id >= ACKNOWLEDGED)
  return { holder, pid, written: () => holder.last('written')?.id ?? ACKNOWLEDGED }
}

async function countWritten(url: string): Promise<unknown> {
  return (await queryRow(url, 'select count(*)::int as written from written'))['written']
}

/** Starts a process under the account of the server, which the server is therefore permitted to signal. */
async function spawnForeignProcess(dataDir: string, script: string): Promise<number> {
  const child = spawn('/bin/sh', ['-c', script], {
    cwd: '/',
    stdio: 'ignore',
    ...serverAccount(dataDirectory(dataDir)),
  })
  foreignProcesses.push(child)
  await once(child, 'spawn')
  return child.pid ?? 0
}

function leavePidFile(dataDir: string, pid: number): void {
  const { data } = dataDirectory(dataDir)
  const lines = [pid, data, 1767225600, 5432, data, '127.0.0.1', '0 0', 'ready   ']
  fs.writeFileSync(path.join(data, 'postmaster.pid'), `${lines.join('\n')}\n`)
  const { uid, gid } = fs.statSync(data)
  fs.chownSync(path.join(data, 'postmaster.pid'), uid, gid)
}
