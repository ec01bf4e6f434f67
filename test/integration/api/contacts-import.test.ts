import { readdirSync } from 'node:fs'
import { type ClientRequest, request } from 'node:http'
import { join } from 'node:path'
import { expect } from 'chai'
import { buildContact, buildWorkspace, newPhone } from '../../factories.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { buildCsv, importCsv, runImport } from '../../support/imports.ts'
import { fetchText, readResults } from '../../support/job-results.ts'
import { listFiles } from '../../support/list-files.ts'
import { uploadText } from '../../support/media.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('POST /api/contacts/import', function () {
  this.timeout(120_000)
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })
  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })
  after(() => app.stop())

  const getJob = (jobId: string) => workspace.call('GET', `/api/jobs/${jobId}`)

  const run = (content: string | Buffer, query?: Record<string, string>) => runImport(workspace, content, query)

  const listContacts = async (query = '') => (await workspace.call('GET', `/api/contacts?limit=100${query}`)).items

  it('creates, updates and leaves contacts as they are, and reports rows that fail with line and reason', async () => {
    const existing = await buildContact(workspace, { name: 'Old name' })
    const same = await buildContact(workspace, { name: 'Same' })
    const phone = newPhone()
    const job = await run(
      [
        'Full Name;Phone Number;E-Mail;Tags;fields.city;Consent;Notes',
        `"Ana\nSouza";${phone};ana@customer.example;vip, lead;Recife;opted_in;ignored`,
        `New name;${existing.phone};;;;;`,
        `Same;${same.phone}`,
        'No number;12;;;;;',
        '',
        `Too;${newPhone()};;;;;;;many`,
        'Nobody;;;;;;',
      ].join('\r\n'),
      { mapping: JSON.stringify({ Consent: 'marketingConsent' }) },
    )
    expect(job).to.deep.include({
      status: 'completed',
      type: 'contacts_import',
      counts: { total: 6, created: 1, updated: 1, unchanged: 1, failed: 3 },
      error: null,
      createdBy: { type: 'user', id: workspace.userId, name: 'Ada' },
    })
    expect(job.input).to.deep.include({ mode: 'upsert', matchBy: 'phone', dryRun: false, delimiter: ';' })
    expect(job.input.columns).to.deep.include({ header: 'Notes', target: null })
    const [created] = await listContacts(`&phone=${encodeURIComponent(phone)}`)
    expect(created).to.deep.include({
      name: 'Ana\nSouza',
      email: 'ana@customer.example',
      fields: { city: 'Recife' },
      source: 'import',
    })
    expect(created.tags.map(({ name }: { name: string }) => name)).to.deep.equal(['lead', 'vip'])
    expect(created.consent).to.deep.include({ marketing: 'opted_in', source: 'import' })
    const results = await readResults(workspace, job)
    expect(results.map(({ line, status, id }) => [line, status, id])).to.deep.equal([
      [2, 'created', created.id],
      [3, 'updated', existing.id],
      [4, 'unchanged', same.id],
      [5, 'failed', null],
      [7, 'failed', null],
      [8, 'failed', null],
    ])
    const rejects = (await fetchText(workspace, job.rejectsUrl)).split('\r\n')
    expect(rejects[0]).to.equal('line,code,reason')
    expect(rejects[1]).to.match(/^5,validation_failed,.*phone must be in international format/)
    expect(rejects[2]).to.match(/^7,row_invalid,.*The row has 9 cells, and the first row 7/)
    expect(rejects[3]).to.match(/^8,validation_failed,.*phone is required/)
  })

  it('has the effect of its rows one by one, also for a person in several portions', async () => {
    const lines = buildCsv(600).trimEnd().split('\n')
    lines[3] = lines[2]?.replace('Contact 1', 'Second name') ?? ''
    lines[4] = lines[3]
    lines[599] = lines[2] ?? ''
    const job = await run(lines.join('\n'))
    expect(job.counts).to.deep.equal({ total: 600, created: 597, updated: 2, unchanged: 1, failed: 0 })
    const results = await readResults(workspace, job)
    expect([1, 2, 3, 598].map((index) => results[index].status)).to.deep.equal([
      'created',
      'updated',
      'unchanged',
      'updated',
    ])
    const create = await run(lines.join('\n'), { mode: 'create' })
    expect(create.counts).to.deep.equal({ total: 600, created: 0, updated: 0, unchanged: 0, failed: 600 })
  })

  it('checks a file in a dry run, and changes nothing', async () => {
    const existing = await buildContact(workspace, { name: 'Old name' })
    const csv = `name,phone,tags\nNew,${newPhone()},vip\nNew name,${existing.phone},\nBad,1,\n`
    const dry = await run(csv, { dryRun: 'true' })
    expect(dry).to.deep.include({ status: 'completed' })
    expect(dry.counts).to.deep.equal({ total: 3, created: 1, updated: 1, unchanged: 0, failed: 1 })
    expect((await readResults(workspace, dry)).map(({ id }) => id)).to.deep.equal([null, existing.id, null])
    expect((await listContacts()).map(({ name }: { name: string }) => name)).to.deep.equal(['Old name'])
    expect((await workspace.call('GET', '/api/tags')).items).to.deep.equal([])
    expect((await run(csv)).counts).to.deep.equal(dry.counts)
  })

  it('has the counts and results of the import in a dry run, also for persons in several portions', async () => {
    const existing = await buildContact(workspace, { name: 'Old name', externalId: 'old' })
    const rows = buildCsv(1700).trimEnd().split('\n').slice(1)
    const row = (name: string, phone: string, externalId = '') => `${name},${phone},${externalId}`
    const [first = '', second = ''] = rows.slice(0, 2).map((text) => text.split(',')[1])
    const lines = rows.map((text) => `${text},`)
    lines[3] = row('Taken', '+4915299999001', 'taken')
    lines[4] = row('Renamed', existing.phone)
    // Persons of the first portion in later ones: changed, as they are, a second time, and with a value that another has.
    lines[600] = row('Contact 0', first)
    lines[601] = row('Second', second, 'crm-2')
    lines[602] = row('Other', '+4915299999002', 'taken')
    lines[1100] = row('Second', second, 'crm-2')
    lines[1101] = row('Renamed', existing.phone, 'new')
    lines[1102] = row('Taken', '+4915299999001', 'free')
    lines[1600] = row('Other', '+4915299999002', 'taken')
    lines[1601] = row('Fourth', '+4915299999004', 'crm-2')
    lines[1690] = row('Third', second)
    const csv = ['name,phone,externalId', ...lines].join('\n')
    for (const [mode, matchBy] of [
      ['create', 'phone'],
      ['upsert', 'phone'],
      ['upsert', 'externalId'],
    ] as const) {
      const dry = await run(csv, { mode, matchBy, dryRun: 'true' })
      const real = await run(csv, { mode, matchBy })
      expect(dry.counts, `${mode} by ${matchBy}`).to.deep.equal(real.counts)
      const statuses = async (job: object) =>
        (await readResults(workspace, job as { resultUrl: string })).map(({ line, status, error }) => [
          line,
          status,
          error?.code,
        ])
      expect(await statuses(dry)).to.deep.equal(await statuses(real))
      workspace = await buildWorkspace(app)
      await buildContact(workspace, { name: 'Old name', externalId: 'old', phone: existing.phone })
    }
  })

  it('by mediaId takes one of the four places of uploads of a workspace, and is refused without one', async () => {
    const mediaId = await uploadText(workspace, buildCsv(2))
    const send = () => workspace.request('POST', '/api/contacts/import', { mediaId })
    const uploads = new Set<ClientRequest>()
    try {
      await waitUntil(async () => {
        // One that is refused, as the process is busy, begins again. Nothing else is uploaded, which could take its place.
        while (uploads.size < 4) uploads.add(startUpload(workspace, (upload) => uploads.delete(upload)))
        return (await listFiles(app.dataDir, 'media/incoming')).length === 4
      })
      const { status, headers, body } = await send()
      expect([status, headers.get('retry-after'), body.code]).to.deep.equal([503, '5', 'unavailable'])
      expect(body.error).to.match(/Too many files are being uploaded/)
    } finally {
      // The files of the other tests are not refused for lack of places.
      for (const upload of uploads) upload.destroy()
      await waitUntil(async () => (await listFiles(app.dataDir, 'media/incoming')).length === 0)
    }
    await waitUntil(async () => (await send()).status === 202)
    await app.work()
    expect(await listContacts()).to.have.length(2)
  })

  /** Begins to send a file, and does not end. */
  function startUpload({ cookie, tenantId }: WorkspaceClient, onEnd: (upload: ClientRequest) => void): ClientRequest {
    const headers = { cookie, 'x-tenant-id': tenantId, 'content-type': 'text/csv', 'x-forwarded-for': newAddress() }
    const upload = request(`${app.url}/api/contacts/import`, { method: 'POST', headers, agent: false })
    upload
      .on('error', () => undefined)
      .on('response', () => upload.destroy())
      .on('close', () => onEnd(upload))
    upload.write('name,phone\n')
    return upload
  }

  it('returns the same job for the same file with the same options, and deletes the file at the end', async () => {
    const csv = buildCsv(3)
    const first = await run(csv)
    const again = await importCsv(workspace, csv)
    expect(again.body).to.deep.equal({ ...first, repeated: true })
    const other = await importCsv(workspace, csv, { dryRun: 'true' })
    expect(other.body.id).to.not.equal(first.id)
    await app.work()
    const folder = join(app.dataDir, 'media', 'files', workspace.tenantId)
    expect(readdirSync(folder)).to.deep.equal([])
    const { rows } = await app.system.db.raw(`select * from media_writes where tenant_id = '${workspace.tenantId}'`)
    expect(rows).to.deep.equal([])
  })

  it('imports a file once more when the call asks for it, and answers then with the newer job', async () => {
    const csv = buildCsv(3)
    const first = await run(csv)
    for (const { id } of await listContacts()) await workspace.call('DELETE', `/api/contacts/${id}`)
    const again = await importCsv(workspace, csv, { again: 'true' })
    expect(again.body).to.deep.include({ repeated: false, status: 'queued' })
    expect(again.body.id).to.not.equal(first.id)
    await app.work()
    expect((await getJob(again.body.id)).counts).to.deep.include({ total: 3, created: 3 })
    const repeated = await importCsv(workspace, csv)
    expect(repeated.body).to.deep.include({ id: again.body.id, repeated: true })
    expect(await getJob(first.id)).to.deep.equal(first)
    const mediaId = await uploadText(workspace, csv)
    const client = app.client(workspace)
    expect((await client.contacts.import.mutate({ mediaId })).repeated).to.equal(true)
    expect((await client.contacts.import.mutate({ mediaId, again: true })).repeated).to.equal(false)
    await app.work()
  })

  it('imports an uploaded file over tRPC', async () => {
    const mediaId = await uploadText(workspace, buildCsv(2))
    const job = await app.client(workspace).contacts.import.mutate({ mediaId })
    await app.work()
    expect(await getJob(job.id)).to.deep.include({ status: 'completed' })
    expect(await listContacts()).to.have.length(2)
    const unknown = await workspace.request('POST', '/api/contacts/import', { mediaId: job.id })
    expect(unknown.status).to.equal(404)
  })

  it('reads UTF-8 and UTF-16 with a byte order mark, and Windows-1252', async () => {
    const rows = ['Zoë', 'José', 'Müller'].map((name) => `name\tphone\n${name}\t${newPhone()}\n`)
    await run(Buffer.from(`\ufeff${rows[0]}`))
    await run(Buffer.from(`\ufeff${rows[1]}`, 'utf16le'))
    await run(Buffer.from(rows[2] ?? '', 'latin1'))
    const names = (await listContacts('&sort=createdAt')).map(({ name }: { name: string }) => name)
    expect(names).to.have.members(['Zoë', 'José', 'Müller'])
  })

  it('refuses a file that is no table of contacts, with what to do', async () => {
    const cases: [string | Buffer, Record<string, string>, RegExp][] = [
      ['', {}, /no rows below/],
      ['name,phone\n', {}, /no rows below/],
      ['\n\nAna,1\n', {}, /first row/],
      ['name,number\nAna,1\n', {}, /No column is "phone".*"number"/],
      ['phone,mobile\n1,2\n', {}, /Several columns are "phone".*mapping/],
      ['phone,name,phone\n1,Ana,2\n', {}, /Several columns are "phone" and have the same header.*Rename/],
      ['name,phone\nAna,1\n', { mapping: '{"City":"fields.city"}' }, /names a column "City"/],
      ['name,phone\nAna,1\n', { mapping: '{"name":"blocked"}' }, /must be one of/],
      ['name,phone\nAna,1\n', { mapping: 'x' }, /mapping must be JSON/],
      ['name,phone\nAna,1\n', { mode: 'merge' }, /mode/],
      ['name,phone\nAna,1\n', { other: '1' }, /other is not a field/],
      [`name,phone\n${`${'"'.padEnd(70_000, 'x')}\n`.repeat(101)}`, {}, /More than 100 rows/],
    ]
    for (const [content, query, message] of cases) {
      const { status, body } = await importCsv(workspace, content, query)
      expect(status, JSON.stringify(body)).to.equal(400)
      expect(body.error).to.match(message)
    }
    expect((await workspace.call('GET', '/api/jobs')).items).to.deep.equal([])
    const typeless = await workspace.request('POST', '/api/contacts/import', 'name,phone', {
      'content-type': 'text/plain',
    })
    expect([typeless.status, typeless.body.error]).to.deep.equal([
      415,
      'Send the request body as application/json or text/csv',
    ])
  })

  it('fails a row that is too long, or has a quote that is not closed, alone', async () => {
    const job = await run(
      `name,phone\n"Open,${newPhone()}\nAna,${newPhone()}\n${'x'.repeat(70_000)},1\nBia,${newPhone()}\n`,
    )
    expect(job.counts).to.deep.equal({ total: 4, created: 2, updated: 0, unchanged: 0, failed: 2 })
    const failed = (await readResults(workspace, job)).filter(({ status }) => status === 'failed')
    expect(failed.map(({ line, error }) => [line, error.code])).to.deep.equal([
      [2, 'row_invalid'],
      [4, 'row_invalid'],
    ])
  })

  it('refuses more than 100,000 rows, and files of more than 50 MB', async () => {
    const { status, body } = await importCsv(workspace, buildCsv(100_001))
    expect([status, body.code]).to.deep.equal([413, 'too_many_rows'])
    const large = await importCsv(workspace, Buffer.alloc(50 * 1024 * 1024 + 1, 'a'))
    expect([large.status, large.body.code]).to.deep.equal([413, 'body_too_large'])
  })

  it('counts rows without content, and refuses a file that is nearly nothing else', async () => {
    const job = await run(`name,phone\n${'\n'.repeat(45_000)}Ana,${newPhone()}\n`)
    expect(job).to.deep.include({ status: 'completed' })
    expect(job.counts).to.deep.include({ total: 1, created: 1 })
    expect((await readResults(workspace, job))[0]?.line).to.equal(45_002)
    const { status, body } = await importCsv(workspace, `name,phone\nAna,1${'\n'.repeat(200_010)}`)
    expect([status, body.code]).to.deep.equal([413, 'too_many_rows'])
    expect(body.error).to.match(/of which many are empty/)
  })

  it('belongs to its workspace, and viewers do not import', async () => {
    const { id } = await run(buildCsv(2))
    const other = await buildWorkspace(app)
    for (const path of [`/api/jobs/${id}`, `/api/jobs/${id}/results`, `/api/jobs/${id}/rejects.csv`])
      expect((await other.request('GET', path)).status, path).to.equal(404)
    expect((await other.request('POST', `/api/jobs/${id}/cancel`, {})).status).to.equal(404)
    expect((await other.call('GET', '/api/jobs')).items).to.deep.equal([])
    const viewer = Object.assign(Object.create(workspace), await app.join(workspace.tenantId, 'viewer'))
    expect((await importCsv(viewer, buildCsv(1))).status).to.equal(403)
  })
})
