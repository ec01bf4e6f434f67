import { join } from 'node:path'
import { expect } from 'chai'
import { createLogger } from '../../../src/platform/log.ts'
import { DiskSpace, type DiskSpaceOptions } from '../../../src/platform/files/disk-space.ts'
import { createTempDir } from '../../support/temp-dir.ts'

const GB = 1024 ** 3
const BLOCK = 4096

/** A disk of some size with some free space, in GB. */
function disk(size: number, free: number, options: Partial<DiskSpaceOptions> = {}) {
  const blocks = (bytes: number) => Math.floor((bytes * GB) / BLOCK)
  const lines: string[] = []
  const log = { warn: () => lines.push('warn'), info: () => lines.push('info') } as unknown as DiskSpaceOptions['log']
  const state = { bsize: BLOCK, blocks: blocks(size), bavail: blocks(free) }
  const space = new DiskSpace({
    folder: '/data',
    freeBytesMin: undefined,
    log,
    read: () => Promise.resolve({ ...state }),
    cachedMs: 0,
    ...options,
  })
  return { space, lines, setFree: (bytes: number) => (state.bavail = blocks(bytes)) }
}

describe('disk space', () => {
  it('is low below 1 GB, or below 5 % of a disk of less than 20 GB', async () => {
    const isLow = (size: number, free: number) => disk(size, free).space.isLow()
    expect(await Promise.all([isLow(500, 1.01), isLow(500, 0.99)])).to.deep.equal([false, true])
    expect(await Promise.all([isLow(10, 0.51), isLow(10, 0.49)])).to.deep.equal([false, true])
  })

  it('is low below the setting, which 0 switches off', async () => {
    const isLow = (free: number, freeBytesMin: number) => disk(500, free, { freeBytesMin }).space.isLow()
    expect(await Promise.all([isLow(9, 10 * GB), isLow(11, 10 * GB), isLow(0, 0)])).to.deep.equal([true, false, false])
  })

  it('is not low where the file system reports no size, or nothing', async () => {
    expect(await disk(0, 0).space.isLow()).to.equal(false)
    expect(await disk(0, 0, { freeBytesMin: GB }).space.isLow()).to.equal(false)
    const read = () => Promise.reject(new Error('not supported'))
    expect(await disk(500, 0, { read, freeBytesMin: GB }).space.isLow()).to.equal(false)
  })

  it('is read from the disk on which a folder will be created', async () => {
    const folder = createTempDir()
    const options = { folder: join(folder.path, 'media', 'incoming'), log: createLogger('silent') }
    expect(await new DiskSpace({ ...options, freeBytesMin: Number.MAX_SAFE_INTEGER }).isLow()).to.equal(true)
    expect(await new DiskSpace({ ...options, freeBytesMin: 1 }).isLow()).to.equal(false)
    await folder.remove()
  })

  it('is logged when it gets low and when it does not stay so, once each', async () => {
    const { space, lines, setFree } = disk(500, 2)
    for (const free of [2, 0.5, 0.4, 2, 3, 0.1]) {
      setFree(free)
      await space.isLow()
    }
    expect(lines).to.deep.equal(['warn', 'info', 'warn'])
  })
})
