import { expect } from 'chai'
import { withClient } from '../../../src/platform/embedded-postgres/connection.ts'
import { queryRow } from '../../support/embedded-clusters.ts'
import { cloneDatabase, testCluster } from '../../support/postgres.ts'

describe('cloneDatabase', () => {
  let migrations = 0
  const migrate = async (url: string) => {
    migrations += 1
    await queryRow(url, 'create table things as select 1 as id')
  }

  it('creates independent copies of a template that is prepared once', async () => {
    const [one, other] = await Promise.all([cloneDatabase(migrate), cloneDatabase(migrate)])
    await queryRow(one.url, 'insert into things values (2)')
    expect(await queryRow(one.url, 'select count(*)::int from things')).to.deep.equal({ count: 2 })
    expect(await queryRow(other.url, 'select count(*)::int from things')).to.deep.equal({ count: 1 })
    expect(migrations).to.equal(1)
    await Promise.all([one.drop(), other.drop()])
  })

  it('returns a drop function that deletes the database despite open connections', async () => {
    const { url, drop } = await cloneDatabase(migrate)
    const name = new URL(url).pathname.slice(1)
    await withClient(url, drop)
    const { adminUrl } = await testCluster()
    expect(await queryRow(adminUrl, `select count(*)::int from pg_database where datname = '${name}'`)).to.deep.equal({
      count: 0,
    })
  })
})
