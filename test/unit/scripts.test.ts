import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { ROOT } from '../support/documents.ts'

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }

describe('the scripts of package.json in cmd.exe', () => {
  it('use no syntax that it does not know: variables, single quotes, several commands but with &&, paths of programs', () => {
    const foreign = Object.entries(scripts).filter(([, text]) => /['$`;|<>~]|(?<!&)&(?!&)|(?:^|&& )\.\//.test(text))
    expect(foreign).to.deep.equal([])
  })

  it('begin with a program, or with exec, which is a file there that executes its arguments', () => {
    const programs = Object.values(scripts).flatMap((text) => text.split(' && ').map((part) => part.split(' ')[0]))
    const names = ['exec', 'knex', 'mocha', 'node', 'npm', 'oxlint', 'prettier', 'tsc', 'tsx']
    expect([...new Set(programs)].toSorted()).to.deep.equal(names)
    expect(read('exec.cmd')).to.equal('@%*\n')
  })
})
