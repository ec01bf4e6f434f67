import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { createFolder } from '../../../src/platform/create-folder.ts'
import { errorMessage } from '../../support/error-message.ts'
import { createTempDir } from '../../support/temp-dir.ts'

describe('createFolder', () => {
  const folder = createTempDir()
  after(() => folder.remove())

  it('creates a folder and those above it with the mode, and returns false for one that exists', async () => {
    const nested = join(folder.path, 'a', 'b', 'c')
    expect(await createFolder(nested, 0o700)).to.equal(true)
    expect(await createFolder(nested, 0o700)).to.equal(false)
    for (const path of [nested, join(folder.path, 'a')]) expect(statSync(path).mode & 0o777).to.equal(0o700)
  })

  it('creates a folder once when several calls create it and its parents at the same time', async () => {
    const nested = join(folder.path, 'd', 'e', 'f')
    const created = await Promise.all(Array.from({ length: 5 }, () => createFolder(nested)))
    expect(created.filter(Boolean)).to.have.length(1)
  })

  it('fails for the path of a file, and for one below it', async () => {
    const file = join(folder.path, 'file')
    writeFileSync(file, '')
    expect(await errorMessage(createFolder(file))).to.include('EEXIST')
    expect(await errorMessage(createFolder(join(file, 'below')))).to.include('ENOTDIR')
  })

  it('fails where no folder can be created', async function () {
    if (process.platform !== 'linux') return this.skip()
    for (const path of ['/proc/parley', '/proc/parley/below'])
      expect(await errorMessage(createFolder(path))).to.include(
        "ENOENT: no such file or directory, mkdir '/proc/parley'",
      )
  })
})
