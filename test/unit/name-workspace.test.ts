import { expect } from 'chai'
import { nameWorkspace } from '../../src/platform/database/servers/node-client.ts'

const TENANT = '0199c0de-0000-7000-8000-000000000001'
const OTHER = '0199c0de-0000-7000-8000-000000000002'

describe('the workspace in the text of a statement', () => {
  it('stands in its conditions, and the other values stay bound in their order', () => {
    const text = 'update contacts c set name = $1 where c.tenant_id = $2 and id = $3 and version = $4'
    expect(nameWorkspace({ text, values: ['Ana', TENANT, OTHER, 4] })).to.deep.equal({
      text: `update contacts c set name = $1 where c.tenant_id = '${TENANT}' and id = $2 and version = $3`,
      values: ['Ana', OTHER, 4],
    })
  })

  it('is bound where a row is inserted, compared with another column, or no ID, and no value is bound twice', () => {
    const statements = [
      { text: 'insert into contacts (tenant_id, name) values ($1, $2)', values: [TENANT, 'Ana'] },
      { text: 'select id from contacts where old_tenant_id = $1', values: [TENANT] },
      { text: 'select id from contacts where tenant_id = $1', values: [`${TENANT}' or true --`] },
      { text: 'select $1::int, $1 from contacts', values: [1] },
    ]
    expect(statements.map(nameWorkspace)).to.deep.equal(statements)
  })

  it('changes only the text and the values of a query', () => {
    const query = { text: 'select id from contacts where tenant_id = $1', values: [TENANT], rowMode: 'array' }
    const expected = { text: `select id from contacts where tenant_id = '${TENANT}'`, values: [], rowMode: 'array' }
    expect(nameWorkspace(query)).to.deep.equal(expected)
  })
})
