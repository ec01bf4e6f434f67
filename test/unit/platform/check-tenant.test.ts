import { expect } from 'chai'
import { checkTenant } from '../../../src/platform/database/statements/check-tenant.ts'

const CORRECT: Record<string, string> = {
  'a select': 'select id from messages where tenant_id = $1 and id = $2',
  'a select with an alias': 'select m.id from messages m where m.tenant_id = $1',
  'an alias after "as"': 'select m.id from messages as m where m.tenant_id = $1',
  'quoted names': 'select "messages".* from "messages" where "messages"."tenant_id" = $1',
  'a join':
    'select 1 from messages m join conversations cv on cv.tenant_id = $1 and cv.id = m.conversation_id where m.tenant_id = $2',
  'a left join of a reference table':
    'select 1 from conversations cv join workspaces w on w.id = cv.tenant_id where cv.tenant_id = $1',
  'a list of tables':
    'select 1 from messages m, contacts c where m.tenant_id = $1 and c.tenant_id = $1 and c.id = m.contact_id',
  'a sub-select':
    'select (select body from messages m where m.tenant_id = $1 and m.id = x.id) from unnest($2::uuid[]) x (id)',
  'exists below an or':
    'select 1 from runs r where r.tenant_id = $1 and (r.id = $2 or exists (select from messages m where m.tenant_id = $1))',
  'a lateral join':
    'select 1 from contacts c left join lateral (select id from messages m where m.tenant_id = $1 limit 1) x on true where c.tenant_id = $1',
  'a common table expression':
    'with due as (select id from outbox o where o.tenant_id = $1) update messages m set status = $2 from due where m.tenant_id = $1 and m.id = due.id',
  'a union': 'select id from runs where tenant_id = $1 union all select id from messages where tenant_id = $1',
  'an insert of values': 'insert into tags (tenant_id, id) values ($1, $2), ($1, $3)',
  'an insert with the tenant in another place':
    'insert into tags (id, tenant_id) values ($2, $1) on conflict do nothing',
  'an insert of a select':
    'insert into tags (tenant_id, id) select $1::uuid, id from jsonb_to_recordset($2::jsonb) as x (id uuid)',
  'an insert of a select from a tenant table':
    'insert into contact_tags (tenant_id, contact_id, tag_id) select $1, c.id, $2 from contacts c where c.tenant_id = $1',
  'an upsert':
    'insert into tags (tenant_id, id) values ($1, $2) on conflict (tenant_id, id) do update set name = excluded.name',
  'an update from a recordset':
    'update contacts c set name = x.name from jsonb_to_recordset($2::jsonb) as x (id uuid, name text) where c.tenant_id = $1 and c.id = x.id',
  'an update of two tables':
    'update contacts c set name = t.name from tags t where c.tenant_id = $1 and t.tenant_id = $1',
  'a delete using':
    'delete from outbox o using messages m where o.tenant_id = $1 and m.tenant_id = $1 and m.id = o.message_id',
  'an or in parentheses': 'select 1 from runs where tenant_id = $1 and (status = $2 or status = $3)',
  'an or beside the tenant of a join':
    'select 1 from unnest($2) x join runs r on r.tenant_id = $1 and r.id = x.id where x.a or r.b',
  'an or in the list of columns': 'select a or b from runs where tenant_id = $1',
  'an or in a case': `select 1 from runs where tenant_id = $1 and case when a or b then c else d end`,
  'row types and literals': `select null::runs, 'from messages', "from" from tags where tenant_id = $1`,
  'a comment': '/* from messages */ select 1 -- from messages\n',
  'distinct from': 'select 1 from tags t where t.tenant_id = $1 and t.name is distinct from messages',
  'a lock': 'select 1 from runs where tenant_id = $1 order by id for no key update',
}

const WRONG: Record<string, [sql: string, problem: RegExp]> = {
  'a select without the tenant': ['select 1 from messages where id = $1', /messages\.tenant_id/],
  'the column of another table': [
    'select 1 from messages m join conversations cv on cv.tenant_id = m.tenant_id where m.tenant_id = $1',
    /cv\.tenant_id/,
  ],
  'a sub-select with the column of the outer table': [
    'select (select 1 from messages m where m.tenant_id = r.tenant_id) from runs r where r.tenant_id = $1',
    /m\.tenant_id/,
  ],
  'an or beside the tenant': ['select 1 from runs where tenant_id = $1 or id = $2', /runs\.tenant_id/],
  'the tenant below an or': ['select 1 from runs where id = $2 and (tenant_id = $1 or true)', /runs\.tenant_id/],
  'the tenant of only one alias': [
    'select 1 from runs a join runs b on b.id = a.id where a.tenant_id = $1',
    /b\.tenant_id/,
  ],
  'an unqualified tenant of two tables': ['select 1 from runs a, messages b where tenant_id = $1', /a\.tenant_id/],
  'a literal instead of a parameter': [`select 1 from runs where tenant_id = 'x'`, /runs\.tenant_id/],
  'several tenants': ['select 1 from runs where tenant_id = any($1)', /runs\.tenant_id/],
  'the second part of a union': [
    'select id from runs where tenant_id = $1 union select id from messages',
    /messages\.tenant_id/,
  ],
  'an insert without columns': [
    'insert into runs select * from jsonb_populate_recordset(null::runs, $1)',
    /inserts into runs/,
  ],
  'an insert of the column of a recordset': [
    'insert into tags (tenant_id, id) select tenant_id, id from jsonb_populate_recordset(null::tags, $1)',
    /inserts into tags/,
  ],
  'an insert of the column of another table': [
    'insert into tags (tenant_id, id) select c.tenant_id, c.id from contacts c where c.tenant_id = $1',
    /inserts into tags/,
  ],
  'an insert of one row without the tenant': [
    'insert into tags (tenant_id, id) values ($1, $2), (default, $3)',
    /inserts into tags/,
  ],
  'an update without the tenant': ['update runs set status = $1 where id = $2', /runs\.tenant_id/],
  'an update whose other table lacks the tenant': [
    'update contacts c set name = t.name from tags t where c.tenant_id = $1 and t.tenant_id = c.tenant_id',
    /t\.tenant_id/,
  ],
  'a delete that names the tenant for the other table only': [
    'delete from outbox o using messages m where m.tenant_id = $1 and m.id = o.message_id',
    /o\.tenant_id/,
  ],
  'a common table expression without the tenant': [
    'with due as (select id from outbox) select 1 from messages m, due where m.tenant_id = $1',
    /outbox\.tenant_id/,
  ],
  'another kind of statement': ['truncate messages', /truncate/],
}

describe('check of the tenant in statements', () => {
  for (const [title, sql] of Object.entries(CORRECT)) {
    it(`accepts ${title}`, () => {
      expect(checkTenant(sql).problem).to.equal(null)
    })
  }

  for (const [title, [sql, problem]] of Object.entries(WRONG)) {
    it(`refuses ${title}`, () => {
      expect(checkTenant(sql).problem).to.match(problem)
    })
  }

  it('names the parameters that have to be the tenant', () => {
    const sql = 'insert into tags (id, tenant_id) select $3, $2 from runs r where r.tenant_id = $1'
    expect(checkTenant(sql).tenantParameters).to.deep.equal([2, 1])
  })
})
