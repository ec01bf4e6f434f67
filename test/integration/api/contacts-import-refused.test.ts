import { expect } from 'chai'
import { buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildCsv, runImport } from '../../support/imports.ts'
import { fetchText, readResults } from '../../support/job-results.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

// A trigger refuses the rows, which a distributed table does not have.
describe('POST /api/contacts/import of rows that the database does not take', function () {
  this.timeout(120_000)
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
  })
  after(() => app.stop())

  const run = (content: string, query?: Record<string, string>) => runImport(workspace, content, query)

  it('fails such a row alone, with the reason, and stores the others', async () => {
    const { db } = app.system
    const [refused, broken] = [newPhone(), newPhone()]
    await db.raw(`
      create function refuse_contact() returns trigger language plpgsql as $$ begin
        if new.phone = '${refused}' or new.name = 'Refused' then raise exception 'refused' using errcode = '22000'; end if;
        if new.phone = '${broken}' then raise exception 'broken' using errcode = 'XX000'; end if;
        return new;
      end $$`)
    await db.raw(
      'create trigger refuse_contact before insert on contacts for each row execute function refuse_contact()',
    )
    try {
      const lines = buildCsv(700).trimEnd().split('\n')
      lines[40] = `Refused,${refused}`
      lines[650] = `Broken,${broken}`
      const csv = lines.join('\n')
      const dry = await run(csv, { dryRun: 'true' })
      const job = await run(csv)
      for (const { status, counts } of [dry, job]) {
        expect(status).to.equal('completed')
        expect(counts).to.deep.equal({ total: 700, created: 698, updated: 0, unchanged: 0, failed: 2 })
      }
      expect(await fetchText(workspace, job.rejectsUrl)).to.match(
        /^line,code,reason\r\n41,not_storable,.*\r\n651,internal,.*\r\n$/,
      )
      expect((await workspace.call('GET', '/api/contacts')).total).to.equal(698)
      const one = await run(`name,phone\nRefused,${refused}\n`)
      expect(one).to.deep.include({ status: 'completed' })
      expect(one.counts).to.deep.include({ total: 1, failed: 1 })
      // So many that they are stored line by line.
      const isRefused = Array.from({ length: 90 }, (_, index) => index % 3 > 0)
      const rows = isRefused.map((refuse) => `${refuse ? 'Refused' : 'Fine'},${newPhone()}\n`)
      const many = await run(`name,phone\n${rows.join('')}`)
      const results = await readResults(workspace, many)
      expect(results.map(({ line, status }) => [line, status === 'failed'])).to.deep.equal(
        isRefused.map((refuse, index) => [index + 2, refuse]),
      )
    } finally {
      await db.raw('drop trigger refuse_contact on contacts')
      await db.raw('drop function refuse_contact()')
    }
  })
})
