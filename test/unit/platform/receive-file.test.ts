import { randomBytes } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import { LimitedDisk } from '../../../chaos/limited-disk.ts'
import { DiskFullError, FileTooLargeError, receiveFile } from '../../../src/platform/files/receive-file.ts'
import { createTempDir } from '../../support/temp-dir.ts'

const MB = 1024 * 1024
const FREE = { isLow: () => Promise.resolve(false) }
const content = () => Readable.from([randomBytes(MB), randomBytes(MB), randomBytes(MB)])

async function fail(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  )
}

describe('receiving a file', () => {
  it('fails with DiskFullError on a full disk, and leaves no part of the file', async function () {
    const disk = await LimitedDisk.mount()
    if (typeof disk === 'string') return this.skip()
    try {
      // A file system without a file cannot be reduced to what is used.
      writeFileSync(join(disk.path, 'other'), 'x')
      disk.fill()
      const error = await fail(
        receiveFile(content(), { folder: disk.path, bytesMax: 10 * MB, disk: FREE }, () => Promise.resolve()),
      )
      expect(error).to.be.instanceOf(DiskFullError)
      expect(readdirSync(disk.path)).to.deep.equal(['other'])
      disk.free()
      const options = { folder: disk.path, bytesMax: 10 * MB, disk: FREE }
      expect(await receiveFile(content(), options, ({ bytes }) => Promise.resolve(bytes))).to.equal(3 * MB)
    } finally {
      await disk.remove()
    }
  })

  it('fails with DiskFullError when the store has no room for it, and leaves nothing', async () => {
    const folder = createTempDir()
    const full = () => Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }))
    const error = await fail(receiveFile(content(), { folder: folder.path, bytesMax: 10 * MB, disk: FREE }, full))
    expect(error).to.be.instanceOf(DiskFullError)
    expect(readdirSync(folder.path)).to.deep.equal([])
    await folder.remove()
  })

  it('fails with DiskFullError before it reads, and when the disk gets almost full meanwhile', async () => {
    const folder = createTempDir()
    for (const looks of [0, 1, 2]) {
      let looked = 0
      const disk = { isLow: () => Promise.resolve((looked += 1) > looks) }
      const stream = content()
      const options = { folder: folder.path, bytesMax: 10 * MB, disk }
      const error = await fail(receiveFile(stream, options, () => Promise.resolve()))
      expect(error).to.be.instanceOf(DiskFullError)
      expect(stream.destroyed).to.equal(true)
      expect(readdirSync(folder.path)).to.deep.equal([])
    }
    await folder.remove()
  })

  it('fails with FileTooLargeError before it reads a file that announces to be larger', async () => {
    const folder = createTempDir()
    const stream = content()
    const options = { folder: folder.path, bytesMax: 2 * MB, bytes: 3 * MB, disk: FREE }
    expect(await fail(receiveFile(stream, options, () => Promise.resolve()))).to.be.instanceOf(FileTooLargeError)
    expect([stream.readableDidRead, stream.destroyed]).to.deep.equal([false, true])
    await folder.remove()
  })
})
