import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { findBinaries } from '../../../src/platform/embedded-postgres/binaries.ts'
import { dataDirectory } from '../../../src/platform/embedded-postgres/data-directory.ts'
import { ADMINISTRATOR, APPLICATION, derivePassword } from '../../../src/platform/embedded-postgres/connection.ts'
import { listServerProcesses } from '../../../src/platform/embedded-postgres/postmaster.ts'
import {
  queryRow,
  discardClusters,
  discardPreparedCluster,
  createEmptyDataDir,
  hasRunningServer,
  startServer,
  createInitializedDataDir,
} from '../../support/embedded-clusters.ts'
import { EmbeddedPostgresProcess } from '../../support/fork-embedded-postgres.ts'
import { errorMessage } from '../../support/error-message.ts'

const isRoot = process.getuid?.() === 0
const NOBODY = { uid: 65534, gid: 65534 }

describe('embedded PostgreSQL', () => {
  afterEach(discardClusters)
  after(discardPreparedCluster)

  describe('with an empty data directory', () => {
    it('creates a cluster and a database owned by an account without further rights', async () => {
      const server = await startServer(createEmptyDataDir())
      expect(server.adopted).to.equal(false)
      const account = `(select rolsuper or rolcreatedb or rolcreaterole from pg_roles where rolname = current_user)`
      expect(
        await queryRow(server.connectionString, `select current_database(), ${account} as may_more`),
      ).to.deep.equal({
        current_database: 'parley',
        may_more: false,
      })
      await queryRow(server.connectionString, 'create table things (id int)')
    })

    it('uses the C.UTF-8 locale, UTC and fsync regardless of the environment', async () => {
      const env = { LC_ALL: 'de_DE.UTF-8', LANG: 'de_DE.UTF-8', TZ: 'Asia/Tokyo' }
      const { connectionString } = await new EmbeddedPostgresProcess(createEmptyDataDir(), { env }).next('started')
      const settings = ['TimeZone', 'fsync', 'dynamic_shared_memory_type', 'autovacuum_naptime', 'server_encoding']
      const columns = settings.map((name) => `current_setting('${name}') as ${name}`)
      const database = `(select datlocprovider::text || ' ' || datlocale from pg_database where datname = current_database())`
      expect(
        await queryRow(connectionString, `select ${columns}, ${database} as locale, 'Z' < 'a' as ordered`),
      ).to.include({
        timezone: 'UTC',
        fsync: 'on',
        dynamic_shared_memory_type: 'mmap',
        autovacuum_naptime: '5s',
        server_encoding: 'UTF8',
        locale: 'b C.UTF-8',
        ordered: true,
      })
    })

    it('stores the secret in a file with mode 600 and exposes it in no command line, log or file name', async () => {
      const dataDir = createEmptyDataDir()
      await startServer(dataDir)
      const folder = dataDirectory(dataDir)
      expect(fs.statSync(folder.secret).mode & 0o777).to.equal(0o600)
      expect(fs.statSync(folder.log).mode & 0o777).to.equal(0o600)
      expect(fs.statSync(folder.data).mode & 0o777).to.equal(0o700)
      const passwords = [ADMINISTRATOR, APPLICATION].map((account) => derivePassword(account, folder))
      const commands = listServerProcesses(folder).map((pid) => fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
      expect(commands.length).to.be.greaterThan(3)
      const visible = [...commands, fs.readFileSync(folder.log, 'utf8'), ...fs.readdirSync(folder.root)].join('\n')
      for (const password of passwords) expect(visible).not.to.include(password)
      expect(fs.readdirSync(folder.root)).to.have.members(['data', 'clients', 'lock', 'port', 'postgres.log', 'secret'])
    })

    for (const count of [2, 5]) {
      it(`starts one server for ${count} processes that start at the same time`, async () => {
        const dataDir = createEmptyDataDir()
        const holders = Array.from({ length: count }, () => new EmbeddedPostgresProcess(dataDir))
        const started = await Promise.all(holders.map((holder) => holder.next('started')))
        expect(started.filter(({ adopted }) => !adopted)).to.have.length(1)
        expect(new Set(started.map(({ pid }) => pid)).size).to.equal(1)
        await Promise.all(holders.map((holder) => holder.stop()))
        expect(hasRunningServer(dataDir)).to.equal(false)
      })
    }

    it('runs as the account of its process when that is not root', async function () {
      if (!isRoot || !canStartPrograms(NOBODY)) return this.skip()
      const dataDir = createEmptyDataDir()
      fs.chownSync(dataDir, NOBODY.uid, NOBODY.gid)
      const { connectionString, pid } = await new EmbeddedPostgresProcess(dataDir, NOBODY).next('started')
      expect(await queryRow(connectionString, 'select 1 as one')).to.deep.equal({ one: 1 })
      expect(fs.statSync(`/proc/${pid}`).uid).to.equal(NOBODY.uid)
      expect(fs.statSync(dataDirectory(dataDir).root).mode & 0o777).to.equal(0o700)
    })

    it('runs as another account when its process runs as root', async function () {
      if (!isRoot) return this.skip()
      const dataDir = createEmptyDataDir()
      const { pid } = await startServer(dataDir)
      const { uid } = fs.statSync(`/proc/${pid}`)
      expect(uid).not.to.equal(0)
      expect(fs.statSync(dataDirectory(dataDir).data).uid).to.equal(uid)
    })
  })

  describe('with an existing data directory', () => {
    it('starts the same database on the same port', async () => {
      const dataDir = await createInitializedDataDir()
      const first = await startServer(dataDir)
      await queryRow(first.connectionString, 'create table kept as select 42 as answer')
      await first.stop()
      expect(hasRunningServer(dataDir)).to.equal(false)
      const second = await startServer(dataDir)
      expect(await queryRow(second.connectionString, 'select answer from kept')).to.deep.equal({ answer: 42 })
      expect(second.port).to.equal(first.port)
    })

    it('uses another port when its previous port is in use', async () => {
      const [one, other] = [await createInitializedDataDir(), await createInitializedDataDir()]
      const ports = [(await startServer(one)).port, (await startServer(other)).port]
      expect(ports[0]).not.to.equal(ports[1])
    })

    it('creates a database of another name on request', async () => {
      const server = await startServer(await createInitializedDataDir(), { database: 'Other "one"' })
      expect(await queryRow(server.connectionString, 'select current_database()')).to.deep.equal({
        current_database: 'Other "one"',
      })
    })

    it('applies the given server settings', async () => {
      const server = await startServer(await createInitializedDataDir(), {
        settings: { max_connections: '17', autovacuum_naptime: '7s' },
      })
      const row = await queryRow(
        server.connectionString,
        `select current_setting('max_connections') || current_setting('autovacuum_naptime') as set`,
      )
      expect(row).to.deep.equal({ set: '177s' })
    })

    it('is shared by several holders and stopped by the last of them', async () => {
      const dataDir = await createInitializedDataDir()
      const first = new EmbeddedPostgresProcess(dataDir)
      const { pid } = await first.next('started')
      const second = await startServer(dataDir)
      expect([second.adopted, second.pid]).to.deep.equal([true, pid])
      await first.stop()
      expect(await queryRow(second.connectionString, 'select 1 as one')).to.deep.equal({ one: 1 })
      await Promise.all([second.stop(), second.stop()])
      expect(hasRunningServer(dataDir)).to.equal(false)
    })

    it('answers queries of a process that drains after Ctrl-C', async () => {
      const dataDir = await createInitializedDataDir()
      const holder = new EmbeddedPostgresProcess(dataDir, { detached: true })
      await holder.next('started')
      process.kill(-holder.pid, 'SIGINT')
      const { answered, failures } = await holder.next('drained')
      expect(failures).to.deep.equal([])
      expect(answered).to.equal(20)
      await holder.next('stopped')
      expect(hasRunningServer(dataDir)).to.equal(false)
    })
  })

  describe('when it cannot start', () => {
    it('names the version that created the cluster and the possible solutions', async () => {
      const dataDir = await createInitializedDataDir()
      fs.writeFileSync(path.join(dataDirectory(dataDir).data, 'PG_VERSION'), '17\n')
      expect(await errorMessage(startServer(dataDir))).to.match(
        /created by PostgreSQL 17\b.*of PostgreSQL 18\b.*PG_BIN_DIR/,
      )
    })

    it('rejects a PG_BIN_DIR with a PostgreSQL version before 17', async () => {
      const binDir = path.join(createEmptyDataDir(), 'bin')
      fs.mkdirSync(binDir)
      for (const name of ['initdb', 'postgres']) {
        fs.writeFileSync(path.join(binDir, name), '#!/bin/sh\necho "postgres (PostgreSQL) 15.18"\n', { mode: 0o755 })
      }
      expect(await errorMessage(startServer(createEmptyDataDir(), { binDir }))).to.match(
        /PG_BIN_DIR contains PostgreSQL 15\b.*17 or later/,
      )
    })

    it('rejects a PG_BIN_DIR without PostgreSQL binaries', async () => {
      const binDir = createEmptyDataDir()
      expect(await errorMessage(startServer(createEmptyDataDir(), { binDir }))).to.match(
        /PG_BIN_DIR has no PostgreSQL in .*DATABASE_URL/s,
      )
    })

    it('asks for another DATA_DIR when the unprivileged account cannot enter it', async function () {
      if (!isRoot) return this.skip()
      const home = createEmptyDataDir()
      fs.chmodSync(home, 0o700)
      expect(await errorMessage(startServer(path.join(home, 'app', '.parley')))).to.match(
        new RegExp(`does not run as root.*cannot enter ${home}\\. Set DATA_DIR`),
      )
    })

    it('names the characters of a path from which initdb cannot start the server', async () => {
      const native = path.dirname((await findBinaries(undefined, { env: {} })).postgres)
      for (const name of ['a"b', 'a$b', 'a`b']) {
        const copy = path.join(createEmptyDataDir(), name)
        fs.cpSync(path.dirname(native), copy, { recursive: true, verbatimSymlinks: true })
        expect(await errorMessage(startServer(createEmptyDataDir(), { binDir: path.join(copy, 'bin') }))).to.match(
          /^PostgreSQL cannot create a database from .*contains ", \$ or `\. Move Parley/,
        )
      }
    })

    it('says that DATA_DIR is below a file', async () => {
      const file = path.join(createEmptyDataDir(), 'file')
      fs.writeFileSync(file, '')
      for (const dataDir of [file, path.join(file, 'below')]) {
        expect(await errorMessage(startServer(dataDir))).to.match(/a part of its path is a file\. Set DATA_DIR/)
      }
    })

    it('says that nothing can be written to DATA_DIR in a file system that creates no folders', async function () {
      if (process.platform !== 'linux') return this.skip()
      for (const dataDir of ['/proc', '/proc/parley', '/proc/parley/data']) {
        expect(await errorMessage(startServer(dataDir))).to.match(
          /^Parley cannot write to \/proc\/.* set DATA_DIR to another one\.$/,
        )
      }
    })

    it('says in one line that no space is left', async () => {
      const binDir = path.join(createEmptyDataDir(), 'bin')
      fs.mkdirSync(binDir)
      const full = 'FATAL:  could not extend file: No space left on device'
      const programs = { postgres: 'echo "postgres (PostgreSQL) 18.4"', initdb: `echo 'ok'; echo '${full}'; exit 1` }
      for (const [name, command] of Object.entries(programs)) {
        fs.writeFileSync(path.join(binDir, name), `#!/bin/sh\n${command}\n`, { mode: 0o755 })
      }
      expect(await errorMessage(startServer(createEmptyDataDir(), { binDir }))).to.match(
        /could not be created in [^\n]*: no space is left\. A new database needs about 60 MB\.$/,
      )
    })

    it('rejects an existing cluster whose secret file is missing', async () => {
      const dataDir = await createInitializedDataDir()
      fs.rmSync(dataDirectory(dataDir).secret)
      expect(await errorMessage(startServer(dataDir))).to.match(/Restore it, or move/)
    })

    it('includes the log output of the server in the error', async () => {
      const dataDir = await createInitializedDataDir()
      expect(await errorMessage(startServer(dataDir, { settings: { shared_buffers: 'many' } }))).to.match(
        /did not start\. See .*postgres\.log: .*invalid value for parameter "shared_buffers": "many"/s,
      )
      expect(hasRunningServer(dataDir)).to.equal(false)
    })
  })
})

function canStartPrograms(account: { uid: number; gid: number }): boolean {
  return spawnSync(process.execPath, ['-e', '0'], { ...account, cwd: import.meta.dirname }).status === 0
}
