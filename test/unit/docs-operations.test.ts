import { expect } from 'chai'
import { LOG_EVENTS } from '../../src/platform/log-events.ts'
import { expectTable } from '../support/documents.ts'
import { readSourceFiles } from '../support/source-files.ts'

describe('the events of log lines', () => {
  it('are listed in the guide for operators', () => {
    const rows = Object.entries(LOG_EVENTS).map(([event, meaning]) => [`\`${event}\``, meaning])
    return expectTable('docs/operations.md', 'Log events', [['Event', 'Meaning, and what to do'], ...rows])
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
