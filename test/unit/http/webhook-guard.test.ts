import { expect } from 'chai'
import type { Context } from 'koa'
import { WebhookGuard } from '../../../src/http/webhook-guard.ts'
import { NotFoundError } from '../../../src/platform/errors.ts'
import { newId } from '../../../src/platform/ids.ts'
import { errorMessage } from '../../support/error-message.ts'

const state = { limit: 60, remaining: 1, resetSeconds: 60 }
const context = { state: { addressKey: '203.0.113.7' }, set: () => undefined } as unknown as Context

describe('WebhookGuard', () => {
  for (const isKnown of [true, false]) {
    it(`looks an address that is ${isKnown ? 'known' : 'unknown'} up once for calls that follow each other`, async () => {
      let lookups = 0
      const guard = new WebhookGuard({ charge: async () => ({ allowed: true, state }) })
      const call = {
        id: newId(),
        key: 'x',
        isKnown: async () => {
          lookups += 1
          return isKnown
        },
        unknownError: () => new NotFoundError('Channel'),
        handle: async () => ({ status: 200 }),
      }
      for (let n = 0; n < 3; n += 1) await guard.run(context, call).catch(() => undefined)
      expect(lookups).to.equal(1)
    })
  }

  it('looks an address up again after a lookup that failed', async () => {
    const guard = new WebhookGuard({ charge: async () => ({ allowed: true, state }) })
    let fails = true
    const call = {
      id: newId(),
      key: 'x',
      isKnown: async () => {
        if (fails) throw new Error('the database is away')
        return true
      },
      unknownError: () => new NotFoundError('Channel'),
      handle: async () => ({ status: 200 }),
    }
    expect(await errorMessage(guard.run(context, call))).to.equal('the database is away')
    fails = false
    expect((await guard.run(context, call)).status).to.equal(200)
  })
})
