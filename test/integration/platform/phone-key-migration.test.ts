import { expect } from 'chai'
import { down, up } from '../../../migrations/20261122010400_add_phone_keys_to_contacts.ts'
import * as completePhones from '../../../migrations/20261123010100_complete_phones_of_contacts.ts'
import { toPhoneKey } from '../../../src/platform/phone.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'

/** In the order in which the contacts were created. */
const PHONES = [
  '+5511987654321',
  '+551187654321',
  '+551133334444',
  '+5511933334444',
  '+551112345678',
  '+525512345678',
  '+5215512345678',
  '+5491123456789',
  '+541123456789',
  '+4915112345678',
  '+15550001111',
]

describe('migration that adds match keys to contacts', () => {
  let app: TestApp

  before(async () => {
    app = await startTestApp({ ROLES: 'http' })
  })

  after(() => app.stop())

  it('fills in the key of the code, and gives the key of several contacts to the oldest', async () => {
    const { tenantId } = await buildWorkspace(app)
    const { db } = app.system
    await completePhones.down(db)
    await down(db)
    for (const [index, phone] of [...PHONES, null].entries()) {
      await db.raw(
        `insert into contacts (tenant_id, id, name, phone, source, created_at, updated_at)
         values (?, gen_random_uuid(), 'Ana', ?, 'api', now() + ? * interval '1 second', now())`,
        [tenantId, phone, index],
      )
    }
    await up(db)
    await completePhones.up(db)
    const rows = await db('contacts')
      .where({ tenant_id: tenantId })
      .orderBy('created_at')
      .select<{ phone: string | null; phone_key: string | null }[]>('phone', 'phone_key')
    const seen = new Set<string>()
    const expected = PHONES.map((phone) => {
      const key = toPhoneKey(phone)
      const isFirst = !seen.has(key)
      seen.add(key)
      return { phone, phone_key: isFirst ? key : null }
    })
    expect(rows).to.deep.equal([...expected, { phone: null, phone_key: null }])
    expect(expected.filter(({ phone_key }) => phone_key === null)).to.have.length(3)
  })

  it('of which a later one removes punctuation, and keeps what is no number as a custom field', async () => {
    const { tenantId } = await buildWorkspace(app)
    const { db } = app.system
    await completePhones.down(db)
    const phones = ['+55 (11) 3333-5555', '+551133335555', '(555) 12', '+44 20 7946 0000', '+44-20-79460000', null]
    await db('contacts').insert(phones.map((phone) => ({ tenant_id: tenantId, name: phone ?? 'Ana', phone })))
    await completePhones.up(db)
    const rows = await db('contacts').where({ tenant_id: tenantId }).select('name', 'phone', 'fields')
    const kept = new Map(rows.map(({ name, phone, fields }) => [name, [phone, fields]]))
    expect(kept.get('+551133335555')).to.deep.equal(['+551133335555', {}])
    expect(kept.get('+55 (11) 3333-5555')).to.deep.equal([null, { phone: '+55 (11) 3333-5555' }])
    expect(kept.get('(555) 12')).to.deep.equal([null, { phone: '(555) 12' }])
    expect(rows.filter(({ phone }) => phone === '+442079460000')).to.have.length(1)
    expect(kept.get('Ana')).to.deep.equal([null, {}])
  })
})
