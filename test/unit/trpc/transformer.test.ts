import { expect } from 'chai'
import fc from 'fast-check'
import superjson from 'superjson'
import { DEPTH_MAX, NODES_MAX } from '../../../src/platform/bounded-json.ts'
import { transformer } from '../../../src/trpc/transformer.ts'

const read = (payload: unknown) => transformer.input.deserialize(JSON.parse(JSON.stringify(payload)))
const write = (value: unknown) => JSON.parse(JSON.stringify(transformer.output.serialize(value)))

const KEY = fc.oneof(fc.string(), fc.constantFrom('constructor', 'prototype', 'a.b', 'a\\.b', '', 'toString'))
const LEAF = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.date({ noInvalidDate: true }))
const { tree: VALUE } = fc.letrec((tie) => ({
  tree: fc.oneof({ depthSize: 'small' }, LEAF, fc.array(tie('tree')), fc.dictionary(KEY, tie('tree'))),
}))

describe('the tRPC transformer', () => {
  it('reads every input of JSON and dates that superjson writes for a tree', () => {
    const key = KEY.filter((name) => !['constructor', 'prototype', '__proto__'].includes(name))
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ depthSize: 'small' }, LEAF, fc.array(tie('tree')), fc.dictionary(key, tie('tree'))),
    }))
    fc.assert(
      fc.property(tree, (value) => {
        expect(read(superjson.serialize(value))).to.deep.equal(value)
      }),
    )
  })

  it('writes outputs that superjson reads back unchanged, dates included', () => {
    const hasSafeKeys = (value: unknown): boolean =>
      !/"(constructor|prototype|__proto__)":/.test(JSON.stringify(value) ?? '')
    fc.assert(
      fc.property(VALUE.filter(hasSafeKeys), (value) => {
        expect(superjson.deserialize(write(value))).to.deep.equal(value)
      }),
    )
  })

  it('writes outputs with members named constructor and prototype', () => {
    const value = { facts: { constructor: 'a', prototype: { b: 1 } }, createdAt: new Date(0) }
    expect(write(value)).to.deep.equal({
      json: { facts: { constructor: 'a', prototype: { b: 1 } }, createdAt: '1970-01-01T00:00:00.000Z' },
      meta: { values: { createdAt: ['Date'] }, v: 1 },
    })
    expect(superjson.deserialize(write(value))).to.deep.equal(value)
  })

  it('reads and writes undefined as the whole value', () => {
    expect(read(superjson.serialize(undefined))).to.equal(undefined)
    expect(superjson.deserialize(write(undefined))).to.equal(undefined)
  })

  it('rejects an input that refers to one object from two places', () => {
    const shared = { a: 1 }
    expect(() => read(superjson.serialize({ first: shared, second: shared }))).to.throw(/Send copies instead/)
  })

  for (const [name, value] of Object.entries({
    bigint: { a: 1n },
    regexp: { a: /a/ },
    set: { a: new Set([1]) },
    map: new Map([['a', 1]]),
    Error: { a: new Error('a') },
    URL: { a: new URL('http://a/') },
    number: { a: Number.NaN },
  })) {
    it(`rejects an input with a value of type ${name}`, () => {
      expect(() => read(superjson.serialize(value))).to.throw(/^The input has a value of type /)
    })
  }

  it('rejects a payload that is not an object, and annotations that do not fit', () => {
    for (const payload of [null, 1, 'a', []]) expect(() => read(payload)).to.throw(/the format of superjson/)
    for (const meta of [1, [], { values: 'Date' }, { values: { a: 1 } }]) {
      expect(() => read({ json: { a: null }, meta })).to.throw()
    }
  })

  it('rejects an input with too many values or levels without exhausting the stack', () => {
    const nested = JSON.parse(`${'['.repeat(500_000)}${']'.repeat(500_000)}`)
    expect(() => read({ json: Array.from({ length: NODES_MAX + 1 }, () => 0) })).to.throw(/more than/)
    expect(() => transformer.input.deserialize({ json: nested })).to.throw(`nested deeper than ${DEPTH_MAX} levels`)
    expect(() => transformer.input.deserialize({ json: {}, meta: nested })).to.throw(`nested deeper`)
  })
})
