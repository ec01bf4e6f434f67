import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config.ts'
import { COPIED } from '../support/checkout.ts'
import { ROOT } from '../support/documents.ts'

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const dockerfile = read('Dockerfile')
const unit = read('ops/systemd/parley@.service')
const ignored = read('.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))

/** Seconds in which a process stops after DRAIN_DELAY_MS. */
const STOP_SECONDS = 25

describe('the files for containers', () => {
  it('.dockerignore excludes everything but the files that the commands of the project need', () => {
    expect(ignored[0]).to.equal('*')
    expect(ignored.slice(1).toSorted()).to.deep.equal([...COPIED, '.npmrc'].map((name) => `!${name}`).toSorted())
    for (const name of ['.parley', '.env', '.git', 'node_modules']) expect(COPIED).to.not.include(name)
  })

  it('Dockerfile copies each of these files, which exist, and nothing as a whole', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names = '']) => names.split(' '))
    expect(copied.toSorted()).to.deep.equal([...COPIED, '.npmrc'].toSorted())
    expect(copied.filter((name) => !existsSync(join(ROOT, name)))).to.deep.equal([])
  })

  it('Dockerfile runs scripts of package.json, and npm', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const commands = [...dockerfile.matchAll(/^RUN (npm .*)$/gm)].flatMap(([, line = '']) => line.split(' && '))
    expect(commands).to.deep.equal(['npm ci', 'npm run build', 'npm prune --omit=dev'])
    expect(scripts).to.have.property('build')
  })

  it('Dockerfile starts the program that npm run build creates, with the options of the service, and not as root', () => {
    const start = /^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]'
    expect(unit).to.include(`ExecStart=/usr/bin/${(JSON.parse(start) as string[]).join(' ')}\n`)
    const [, lastStage = ''] = dockerfile.split(/^FROM .*$(?![\s\S]*^FROM)/m)
    expect(lastStage).to.match(/^USER node$/m)
  })

  it('the container for development and the image have the same major version of Node.js', () => {
    const { image } = JSON.parse(read('.devcontainer/devcontainer.json')) as { image: string }
    const [, major = ''] = /javascript-node:(\d+)/.exec(image) ?? []
    expect([...dockerfile.matchAll(/^FROM node:(\d+)/gm)].map(([, version]) => version)).to.deep.equal([major, major])
  })
})

type Service = {
  image?: string
  build?: string
  user?: string
  command?: string[]
  environment?: Record<string, string>
  volumes?: string[]
  configs?: { source: string; target: string }[]
  depends_on?: Record<string, { condition: string }>
  healthcheck?: object
  cap_drop?: string[]
  cap_add?: string[]
  security_opt?: string[]
  read_only?: boolean
  mem_limit?: string
  pids_limit?: number
  scale?: number
  stop_grace_period?: string
}
type Compose = {
  services: Record<string, Service>
  volumes: Record<string, unknown>
  configs: Record<string, { file?: string; content?: string }>
}

/** Settings that `.env` has to contain. */
const SETTINGS: Record<string, string> = {
  POSTGRES_PASSWORD: 'secret',
  SECRET_KEYS: 'ab'.repeat(32),
  PUBLIC_HOSTS: 'parley.example.com',
}

describe('compose.yaml', () => {
  const text = read('compose.yaml')
  // The document has no types of its own: its anchors are merged as those of Compose.
  const { services, volumes, configs } = parse(text, { merge: true }) as Compose
  const entries = Object.entries(services)
  const own = entries.filter(([, { image }]) => image === 'parley')

  it('limits each service, with a read-only root and without rights that it does not need', () => {
    for (const [name, service] of entries) {
      expect(service, name).to.include({ read_only: true })
      expect(service.cap_drop, name).to.deep.equal(['ALL'])
      expect(service.security_opt, name).to.deep.equal(['no-new-privileges:true'])
      expect(service.mem_limit, name).to.match(/^\d+[mg]$/)
      expect(service.pids_limit, name).to.be.a('number')
    }
    const rights = entries.filter(([, { cap_add: added }]) => added).map(([name]) => name)
    expect(rights).to.deep.equal(['archive-owner', 'proxy'])
    for (const [name, { user }] of own) expect(user, name).to.equal('node')
  })

  it('names only services, volumes, configurations and files that exist', () => {
    for (const [name, service] of entries) {
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        expect(services, name).to.have.property(other)
        const isHealth = condition === 'service_healthy' && services[other]?.image !== 'parley'
        if (isHealth) expect(services[other], other).to.have.property('healthcheck')
      }
      for (const volume of service.volumes ?? []) expect(volumes, name).to.have.property(volume.split(':')[0] ?? '')
      for (const { source } of service.configs ?? []) expect(configs, name).to.have.property(source)
    }
    const files = Object.values(configs).flatMap(({ file }) => file ?? [])
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).to.deep.equal([])
    expect(text.match(/\$\{\w+/g)?.map((name) => name.slice(2))).to.include.members(Object.keys(SETTINGS))
    expect(text).to.not.match(/(?:password|key)\w*: [^$\s]/i)
  })

  it('starts Parley with settings that it accepts, each role twice, and gives it time to stop', () => {
    const roles = own.map(([name, service]) => {
      const environment = Object.entries(service.environment ?? {}).map(([key, value]) => [
        key,
        value.replaceAll(/\$\{(\w+):[?-][^}]*\}/g, (_, setting: string) => SETTINGS[setting] ?? ''),
      ])
      const { http, roles: started } = loadConfig(Object.fromEntries(environment))
      const grace = Number.parseInt(service.stop_grace_period ?? '', 10)
      if (name !== 'migrate') expect(grace, name).to.be.at.least(STOP_SECONDS + http.drainDelayMs / 1000)
      return [name, name === 'migrate' ? [] : started, service.scale]
    })
    expect(roles).to.deep.equal([
      ['migrate', [], undefined],
      ['http', ['http'], 2],
      ['worker', ['worker'], 2],
    ])
    expect(existsSync(join(ROOT, services['migrate']?.command?.at(-1) ?? 'none'))).to.equal(true)
  })

  it('sends requests to each http process that is ready, without collecting events', () => {
    const caddyfile = read('ops/caddy/Caddyfile')
    const [, addresses = ''] = /reverse_proxy (.*) \{/.exec(caddyfile) ?? []
    const replicas = Array.from({ length: services['http']?.scale ?? 0 }, (_, index) => `parley-http-${index + 1}:3000`)
    expect(addresses.split(' ')).to.deep.equal(replicas)
    expect(caddyfile).to.include('health_uri /readyz').and.to.include('flush_interval -1')
  })

  it('keeps the WAL of PostgreSQL, and evicts and saves nothing of Redis', () => {
    expect(services['postgres']?.command).to.include.members(['--archive_mode=on', '--wal_level=replica'])
    expect(services['redis']?.command?.join(' ')).to.include('--save  --appendonly no').and.to.include('noeviction')
    expect(read('ops/pgbouncer/pgbouncer.ini')).to.include('pool_mode = transaction')
  })
})

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

describe('the unit of systemd', () => {
  it('has limits and no rights that it does not need, and time to stop', () => {
    const settings = Object.fromEntries(
      unit.split('\n').flatMap((line) => {
        const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? []
        return name === '' ? [] : [[name, value]]
      }),
    )
    expect(settings).to.include({ NoNewPrivileges: 'true', ProtectSystem: 'strict', CapabilityBoundingSet: '' })
    expect(settings).to.include.keys('MemoryMax', 'TasksMax', 'LimitNOFILE')
    expect(Number(settings['TimeoutStopSec'])).to.be.greaterThan(STOP_SECONDS)
  })

  const title = 'is accepted by systemd-analyze verify'
  if (hasSystemd)
    it(title, () => {
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', join(ROOT, 'ops/systemd/parley@.service')])
      expect(stderr.toString()).to.not.match(/Unknown|Failed to parse|Invalid/)
      expect([0, 1]).to.include(status)
    })
  else it.skip(`${title} (not run: systemd is not installed)`)
})
