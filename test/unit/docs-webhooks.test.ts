import { CUSTOM_EVENT, EVENT_TYPES } from '../../src/scope/event-types.ts'
import { expectTable } from '../support/documents.ts'

describe('the page about webhooks', () => {
  it('lists every type of event with its data and its resource', () => {
    const rows = Object.entries({ ...EVENT_TYPES, 'custom.*': CUSTOM_EVENT }).map(
      ([type, { description, data, ...info }]) => {
        const fields = data.map(formatField).join(', ')
        return [`\`${type}\``, description, fields, 'resource' in info ? info.resource : '']
      },
    )
    return expectTable('docs/webhooks.md', 'Types of events', [['Type', 'Meaning', 'Data', 'Resource'], ...rows])
  })
})

function formatField(field: string): string {
  const name = `\`${field.replace(/\?$|\[\]$/, '')}\``
  if (field.endsWith('[]')) return `${name} (list)`
  return field.endsWith('?') ? `${name} or null` : name
}
