import { expect } from 'chai'
import { assertBounded, assertBoundedText, NODES_MAX, WIDE_NAMES_MAX } from '../../../src/platform/bounded-json.ts'

const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, 'a:{}']))
const repeated = (count: number, value: unknown) => Array.from({ length: count }, () => value)

describe('bounded JSON', () => {
  for (const [what, value] of Object.entries({
    [`an object with ${WIDE_NAMES_MAX + 100} names`]: named(WIDE_NAMES_MAX + 100),
    'many objects with a hundred names': repeated(900, named(100)),
    'texts with colons and brackets': repeated(50_000, '":{[,'),
    'objects within objects': repeated(30_000, { a: { b: 1 } }),
  })) {
    it(`takes ${what}, as text and as a value`, () => {
      assertBounded(value)
      assertBoundedText(Buffer.from(JSON.stringify(value)))
    })
  }

  for (const [what, value] of Object.entries({
    'an object with one name more': named(WIDE_NAMES_MAX + 101),
    'as many names in several objects': repeated(3, named(10_000)),
    'as many names in an object within a list': [{ a: [named(WIDE_NAMES_MAX + 101)] }],
  })) {
    it(`rejects ${what}, as text and as a value`, () => {
      const error = /has more than 20000 names in objects with more than 100 names/
      expect(() => assertBounded(value)).to.throw(error)
      expect(() => assertBoundedText(Buffer.from(JSON.stringify(value)))).to.throw(error)
    })
  }

  it('rejects text with far too many values, and text that is malformed only if it has too many', () => {
    expect(() => assertBoundedText(Buffer.from(JSON.stringify(repeated(NODES_MAX * 2, 0))))).to.throw(/values/)
    assertBoundedText(Buffer.from(']}]}"'))
    assertBoundedText(Buffer.alloc(0))
  })
})
