import { expect } from 'chai'
import { z } from 'zod'
import { InvalidError } from '../../../src/platform/errors.ts'
import { serializeError } from '../../../src/platform/security/serialize-error.ts'

function databaseError(message: string, fields: object): Error {
  return Object.assign(new Error(message), fields)
}

describe('serializeError', () => {
  it('keeps the constraint, table and message of a unique violation but not its key', () => {
    const fields = {
      code: '23505',
      constraint: 'contacts_phone',
      table: 'contacts',
      detail: 'Key (phone)=(+4917012) exists.',
    }
    const { stack, ...rest } = serializeError(databaseError('duplicate key violates "contacts_phone"', fields))
    expect(rest).to.deep.equal({
      name: 'Error',
      message: 'duplicate key violates "contacts_phone"',
      code: '23505',
      constraint: 'contacts_phone',
      table: 'contacts',
    })
    expect(stack)
      .to.match(/^at databaseError/)
      .and.not.include('+4917012')
  })

  it('removes the values that Postgres quotes in the messages of other errors', () => {
    const error = databaseError('invalid input syntax for type uuid: "ana" - "bia"', { code: '22P02' })
    expect(serializeError(error).message).to.equal('invalid input syntax for type uuid')
    const outOfRange = databaseError('value "4917012" is out of range', { code: '22003' })
    expect(serializeError(outOfRange).message).to.equal('value "…" is out of range')
  })

  it('removes addresses, long numbers and query strings from messages', () => {
    const texts = ['no answer of ana@x.example', 'no <ana> there', 'call /path?token=x', 'is +4917012345']
    const messages = texts.map((text) => serializeError(new Error(text)).message)
    expect(messages).to.deep.equal(['no answer of …', 'no "…" there', 'call /path?…', 'is …'])
  })

  it('describes the issues of a ZodError by code and path, with unusual keys masked', () => {
    const Schema = z.object({ fields: z.record(z.string(), z.number()) })
    const { error } = Schema.safeParse({ fields: { '+4917012': 'x' } })
    expect(serializeError(error)).to.deep.include({ name: 'ZodError', message: 'invalid_type at fields.*' })
  })

  it('keeps no excerpt of a text that JSON.parse rejects', () => {
    let error: unknown
    try {
      JSON.parse('ana-secret')
    } catch (thrown) {
      error = thrown
    }
    expect(JSON.stringify(serializeError(error))).to.not.include('ana')
  })

  it('follows at most four causes, also when they form a cycle', () => {
    const error = new Error('outer')
    error.cause = error
    expect(JSON.stringify(serializeError(error)).match(/"cause"/g)).to.have.length(4)
    const wrapped = new InvalidError('invalid', [{ path: 'phone', message: '+4917012' }], undefined, { cause: 'text' })
    const { stack, ...rest } = serializeError(wrapped)
    expect(rest).to.deep.equal({
      name: 'InvalidError',
      message: 'invalid',
      code: 'validation_failed',
      cause: { name: 'string' },
    })
    expect(stack).to.be.a('string')
  })

  it('reports the error of the driver under the name of the wrapping error', () => {
    const native = databaseError('duplicate key', { code: '23505', detail: 'Key (phone)=(+4917012)' })
    const wrapper = Object.assign(new Error(native.message), { name: 'UniqueViolationError', nativeError: native })
    const serialized = serializeError(wrapper)
    expect(serialized).to.include({ name: 'UniqueViolationError', message: 'duplicate key', code: '23505' })
    expect(JSON.stringify(serialized)).to.not.include('+4917012')
  })
})
