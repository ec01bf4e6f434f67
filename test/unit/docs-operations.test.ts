import { expect } from 'chai'
import { LOG_EVENTS } from '../../src/platform/log-events.ts'
import { CITUS_CHECKS } from '../../src/cli/doctor/citus-checks.ts'
import { SECRET_CHECK } from '../../src/cli/doctor/secret-check.ts'
import { SERVER_CHECKS } from '../../src/cli/doctor/server-checks.ts'
import { SERVICE_CHECKS } from '../../src/cli/doctor/service-checks.ts'
import { WORK_CHECKS } from '../../src/cli/doctor/work-checks.ts'
import { expectTable, listTableRows, readDocument, sectionOf } from '../support/documents.ts'
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

describe('the checks of parley doctor', () => {
  it('are listed in the guide for operators, in their order', () => {
    const checks = [...SERVICE_CHECKS, ...SERVER_CHECKS, ...CITUS_CHECKS, ...WORK_CHECKS, SECRET_CHECK]
    const rows = listTableRows(sectionOf(readDocument('docs/operations.md'), 'Check an installation'))
    const listed = rows.map(([name]) => name).filter((name) => name !== '`database`')
    expect(listed).to.deep.equal(checks.map(({ name }) => `\`${name}\``))
  })
})
