import { expect } from 'chai'
import { toRecordset } from '../../../src/platform/database/sql.ts'

describe('SQL row mapping', () => {
  it('toRecordset writes the keys of rows in snake_case and leaves nested keys as they are', () => {
    expect(toRecordset([{ contactId: 'c', values: { firstVisit: 1 } }])).to.equal(
      '[{"contact_id":"c","values":{"firstVisit":1}}]',
    )
  })
})
