import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { AREAS } from '../../mutants/catalog/index.ts'
import { ROOT } from '../support/documents.ts'

describe('catalog of mutants', () => {
  it('names texts that occur exactly once in their files', () => {
    const counts = AREAS.flatMap(({ mutants }) =>
      mutants.map(({ name, file, original }) => {
        const count = readFileSync(join(ROOT, file), 'utf8').split(original).length - 1
        return `${name} (${file}): ${count}`
      }),
    )
    expect(counts.filter((line) => !line.endsWith(': 1'))).to.deep.equal([])
  })

  it('names test files that exist', () => {
    const files = AREAS.flatMap(({ tests, mutants }) => [...tests, ...mutants.flatMap((mutant) => mutant.tests ?? [])])
    expect(files.filter((file) => !existsSync(join(ROOT, 'test', file)))).to.deep.equal([])
  })
})
