import { expect } from 'chai'
import { camelRows, toRecordset } from '../../../src/platform/database/sql.ts'

describe('SQL row mapping', () => {
  it('camelRows maps column names to camelCase and leaves JSON values as they are', () => {
    const rows = camelRows<{ contactId: string; fields: object }>([{ contact_id: 'c', fields: { first_visit: 1 } }])
    expect(rows).to.deep.equal([{ contactId: 'c', fields: { first_visit: 1 } }])
  })

  it('toRecordset writes the keys of rows in snake_case and leaves nested keys as they are', () => {
    expect(toRecordset([{ contactId: 'c', values: { firstVisit: 1 } }])).to.equal(
      '[{"contact_id":"c","values":{"firstVisit":1}}]',
    )
  })
})
