import { expect } from 'chai'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format } from 'prettier'
import { LOG_EVENTS } from '../../src/platform/log-events.ts'
import { readDocument, ROOT, sectionOf } from '../support/documents.ts'
import { readSourceFiles } from '../support/source-files.ts'

const PAGE = 'docs/operations.md'

describe('the events of log lines', () => {
  it('are listed in the guide for operators', async () => {
    const document = readDocument(PAGE)
    const [introduction = '', table = ''] = sectionOf(document, 'Log events').trim().split('\n\n')
    const rows = Object.entries(LOG_EVENTS).map(([event, meaning]) => `| \`${event}\` | ${meaning} |`)
    const markdown = ['| Event | Meaning, and what to do |', '| --- | --- |', ...rows].join('\n')
    const expected = (await format(markdown, { parser: 'markdown' })).trim()
    if (process.env['WRITE_DOCS']) {
      const section = [introduction, table].filter(Boolean).join('\n\n')
      writeFileSync(join(ROOT, PAGE), document.text.replace(section, `${introduction}\n\n${expected}`))
    } else expect(table, 'WRITE_DOCS=1 npx mocha test/unit/docs-operations.test.ts writes it').to.equal(expected)
  })

  it('are all written by the source', () => {
    const source = readSourceFiles(['src'])
      .filter(({ path }) => path !== 'src/platform/log-events.ts')
      .map(({ text }) => text)
      .join('\n')
    const unused = Object.keys(LOG_EVENTS).filter((event) => !source.includes(`event: '${event}'`))
    expect(unused).to.deep.equal([])
  })
})
