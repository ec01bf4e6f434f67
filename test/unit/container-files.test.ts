import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { COPIED } from '../support/checkout.ts'
import { readDocument, ROOT } from '../support/documents.ts'

const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))

describe('the files for containers', () => {
  it('.dockerignore excludes everything but the files that the commands of the project need', () => {
    expect(ignored[0]).to.equal('*')
    expect(ignored.slice(1).toSorted()).to.deep.equal([...COPIED, '.npmrc'].map((name) => `!${name}`).toSorted())
    for (const name of ['.parley', '.env', '.git', 'node_modules']) expect(COPIED).to.not.include(name)
  })

  it('Dockerfile copies each of these files, and nothing as a whole', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names = '']) => names.split(' '))
    expect(copied.toSorted()).to.deep.equal([...COPIED, '.npmrc'].toSorted())
  })

  it('Dockerfile starts the program that npm run build creates, with the options of the service, and not as root', () => {
    const start = /^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]'
    const service = readDocument('docs/operations.md').blocks.find(({ heading }) => heading === 'systemd')
    expect(service?.text).to.include(`ExecStart=/usr/bin/${(JSON.parse(start) as string[]).join(' ')}\n`)
    const [, lastStage = ''] = dockerfile.split(/^FROM .*$(?![\s\S]*^FROM)/m)
    expect(lastStage).to.match(/^USER node$/m)
  })
})
