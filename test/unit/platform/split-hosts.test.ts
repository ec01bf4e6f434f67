import { expect } from 'chai'
import { splitHosts } from '../../../src/platform/database/database-url.ts'

describe('splitHosts', () => {
  it('returns a URL for each host, in order, with the same user, database and options', () => {
    expect(splitHosts('postgres://u:p@h1:5432,h2,[::1]:5433/db?sslmode=require')).to.deep.equal([
      'postgres://u:p@h1:5432/db?sslmode=require',
      'postgres://u:p@h2/db?sslmode=require',
      'postgres://u:p@[::1]:5433/db?sslmode=require',
    ])
  })

  it('returns a URL with one host as it is, with commas elsewhere', () => {
    const url = 'postgres://u:a,b@h1:5432/db?application_name=a,b'
    expect(splitHosts(url)).to.deep.equal([url])
  })
})
