import { expect } from 'chai'
import { z } from 'zod'
import { listProcedures } from '../../../src/http/rest.ts'
import { appRouter } from '../../../src/router.ts'
import { createSelect } from '../../../src/trpc/select-output.ts'

const SECRET = { passwordHash: 'undeclared' }

/** Builds a value of a schema, with undeclared fields in every object. Fields of one object have different values if possible. */
function buildSample(schema: z.core.$ZodType, position = 0): unknown {
  if (schema instanceof z.ZodObject) {
    const isStrict = schema.def.catchall instanceof z.ZodNever
    const fields = Object.entries(schema.shape).map(([name, field], index) => [name, buildSample(field, index)])
    return { ...Object.fromEntries(fields), ...(isStrict ? {} : SECRET) }
  }
  if (schema instanceof z.ZodArray) return [buildSample(schema.element), buildSample(schema.element)]
  if (schema instanceof z.ZodRecord) return { key: buildSample(schema.valueType) }
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) {
    return buildSample(schema.unwrap(), position)
  }
  if (schema instanceof z.ZodUnion) return buildSample(schema.options[0] as z.core.$ZodType, position)
  if (schema instanceof z.ZodEnum) return schema.options[0]
  if (schema instanceof z.ZodLiteral) return [...schema.values][0]
  if (schema instanceof z.ZodDate) return new Date('2026-11-20T10:15:30Z')
  if (schema instanceof z.ZodUnknown) return { anything: true }
  if (schema instanceof z.ZodNull) return null
  const candidates = [
    true,
    1,
    30,
    90,
    'text',
    '2026-11-20T10:15:30.000Z',
    '2026-11-20',
    '2026-11-20T10:15',
    '10:15',
    '11:15',
    'UTC',
    'https://a.example',
    'ada@parley.example',
    '0199a7a0-0000-7000-8000-000000000001',
    '#AABBCC',
    '+14155550100',
    'en',
  ]
  const valid = candidates.filter((candidate) => z.safeParse(schema, candidate).success)
  if (valid.length === 0) throw new Error(`No sample of ${schema._zod.def.type}`)
  return valid[position % valid.length]
}

describe('selection of outputs', () => {
  const schemas = [...listProcedures(appRouter)].flatMap(([path, { _def }]) =>
    _def.output instanceof z.ZodType ? [{ path, schema: _def.output }] : [],
  )

  it('covers every procedure that is not a subscription', () => {
    const others = [...listProcedures(appRouter).values()].filter(({ _def }) => _def.type !== 'subscription')
    expect(others.length).to.be.above(0)
    expect(schemas).to.have.length(others.length)
  })

  for (const { path, schema } of schemas) {
    it(`of ${path} returns what parsing returns, without undeclared fields`, () => {
      const sample = buildSample(schema)
      const selected = createSelect(schema)(sample)
      expect(selected).to.deep.equal(schema.parse(sample))
      expect(JSON.stringify(createSelect(schema, 'text')(sample))).to.equal(JSON.stringify(selected))
    })
  }

  it('removes undeclared fields of nested objects, lists, records and nullable fields', () => {
    const Item = z.object({ id: z.string() })
    const schema = z.object({ one: Item.nullable(), list: z.array(Item), map: z.record(z.string(), Item) })
    const item = { id: '1', tenantId: '2' }
    const selected = createSelect(schema)({ one: item, list: [item], map: { a: item }, total: 3 })
    expect(selected).to.deep.equal({ one: { id: '1' }, list: [{ id: '1' }], map: { a: { id: '1' } } })
  })

  it('applies defaults and leaves out optional fields that are missing', () => {
    const schema = z.object({ a: z.string().nullable().default(null), b: z.string().optional() })
    expect(createSelect(schema)({})).to.deep.equal({ a: null })
  })

  it('keeps a field named __proto__ of a record from changing the prototype', () => {
    const schema = z.record(z.string(), z.object({ id: z.string() }))
    const value: unknown = JSON.parse('{"__proto__": {"id": "1", "x": 2}}')
    expect(Object.getPrototypeOf(createSelect(schema)(value))).to.equal(Object.prototype)
  })

  for (const [what, schema, value] of [
    ['an object in place of a text', z.object({ a: z.string() }), { a: SECRET }],
    ['an object in place of a nullable number', z.object({ a: z.number().nullable() }), { a: SECRET }],
    ['an object in place of a date', z.object({ a: z.date() }), { a: SECRET }],
    ['an object in place of one of several texts', z.object({ a: z.union([z.string(), z.null()]) }), { a: SECRET }],
    ['an object in place of a list', z.object({ a: z.array(z.string()) }), { a: SECRET }],
    ['a list in place of an object', z.object({ a: z.object({}) }), { a: [SECRET] }],
    ['a text in place of an object', z.object({}), 'text'],
    [
      'an object of none of several schemas',
      z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
      SECRET,
    ],
  ] as const) {
    it(`rejects ${what}`, () => {
      expect(() => createSelect(schema)(value)).to.throw()
    })
  }
})
