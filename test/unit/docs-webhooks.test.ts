import { expect } from 'chai'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format } from 'prettier'
import { CUSTOM_EVENT, EVENT_TYPES } from '../../src/scope/event-types.ts'
import { readDocument, ROOT, sectionOf } from '../support/documents.ts'

const PAGE = 'docs/webhooks.md'

describe('the page about webhooks', () => {
  it('lists every type of event with its data and its resource', async () => {
    const document = readDocument(PAGE)
    const [introduction = '', table = ''] = sectionOf(document, 'Types of events').trim().split('\n\n')
    const expected = await formatTypes()
    if (process.env['WRITE_DOCS']) {
      const section = [introduction, table].filter(Boolean).join('\n\n')
      writeFileSync(join(ROOT, PAGE), document.text.replace(section, `${introduction}\n\n${expected}`))
    } else expect(table, 'WRITE_DOCS=1 npx mocha test/unit/docs-webhooks.test.ts writes it').to.equal(expected)
  })
})

function formatField(field: string): string {
  const name = `\`${field.replace(/\?$|\[\]$/, '')}\``
  if (field.endsWith('[]')) return `${name} (list)`
  return field.endsWith('?') ? `${name} or null` : name
}

async function formatTypes(): Promise<string> {
  const types = Object.entries({ ...EVENT_TYPES, 'custom.*': CUSTOM_EVENT })
  const rows = types.map(([type, { description, data, ...info }]) => {
    const fields = data.map(formatField).join(', ')
    return [`\`${type}\``, description, fields, 'resource' in info ? info.resource : ''].join(' | ')
  })
  const table = ['Type | Meaning | Data | Resource', '--- | --- | --- | ---', ...rows]
  const text = await format(table.map((row) => `| ${row} |`).join('\n'), { parser: 'markdown' })
  return text.trim()
}
