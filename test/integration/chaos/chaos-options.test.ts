import { expect } from 'chai'
import { FAULT_KINDS } from '../../../chaos/faults/fault.ts'
import { listKinds, parseOptions, USAGE } from '../../../chaos/parse-options.ts'

describe('parseOptions of the chaos test', () => {
  it('parseOptions returns 200 kills, 100 other faults and 2000 conversations by default', () => {
    const defaults = { kills: 200, faults: 100, conversations: 2000, seed: 1, timeoutMs: 300_000 }
    expect(parseOptions([])).to.include(defaults)
    expect(parseOptions(['--kills', '30', '--seed=7'])).to.include({ ...defaults, kills: 30, seed: 7 })
  })

  it('parseOptions returns all kinds of faults by default and those of --only otherwise', () => {
    expect(parseOptions([])?.kinds).to.deep.equal(listKinds(false))
    expect(parseOptions(['--only', 'cut,freeze'])?.kinds).to.deep.equal(['cut', 'freeze'])
    expect(() => parseOptions(['--only', 'cut,quake'])).to.throw('"quake"')
  })

  it('parseOptions replaces the full disk by failing nodes on a cluster of Citus', () => {
    const kinds = Object.keys(FAULT_KINDS)
    expect(parseOptions([])?.kinds).to.deep.equal(kinds.filter((kind) => kind !== 'node'))
    const options = parseOptions(['--citus-url', 'postgres://parley@127.0.0.1/parley'])
    expect(options?.citusUrl).to.equal('postgres://parley@127.0.0.1/parley')
    expect(options?.kinds).to.deep.equal(kinds.filter((kind) => kind !== 'disk'))
  })

  it('the help lists every kind of fault in one line', () => {
    const lines = USAGE.split('\n').map((line) => line.trim())
    for (const [kind, description] of Object.entries(FAULT_KINDS))
      expect(lines.some((line) => line.startsWith(kind) && line.endsWith(description))).to.equal(true, kind)
  })

  it('parseOptions names the argument that is unknown, lacks a value, or is positional', () => {
    expect(() => parseOptions(['--kill', '3'])).to.throw('--kill')
    expect(() => parseOptions(['--kills'])).to.throw('--kills')
    expect(() => parseOptions(['30'])).to.throw('30')
  })

  it('parseOptions rejects a value that is not an integer or is too small', () => {
    for (const value of ['many', '1.5', '1e3', '', '0x10'])
      expect(() => parseOptions([`--kills=${value}`]), value).to.throw(`--kills must be an integer of at least 0`)
    expect(() => parseOptions(['--workers', '0'])).to.throw('--workers must be an integer of at least 1, but is "0"')
  })

  it('parseOptions returns undefined for --help and -h, whatever other options there are', () => {
    expect(parseOptions(['--help'])).to.equal(undefined)
    expect(parseOptions(['--kills', '3', '-h'])).to.equal(undefined)
  })
})
