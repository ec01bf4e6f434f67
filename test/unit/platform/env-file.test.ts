import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { readEnvFile } from '../../../src/platform/process/env-file.ts'
import { createTempDir, type TempDir } from '../../support/temp-dir.ts'

describe('readEnvFile', () => {
  let folder: TempDir
  let path: string

  beforeEach(() => {
    folder = createTempDir()
    path = join(folder.path, '.env')
  })

  afterEach(() => folder.remove())

  it('reads names and values, with comments, quotes, export and Windows line ends', () => {
    writeFileSync(
      path,
      '# Settings\r\nPORT=8080 # public\r\n\r\nexport HOST = "::1"\r\nSMTP_URL=\'smtp://a#b\'\r\nREDIS_URL=\r\n',
    )
    const variables = { PORT: '8080', HOST: '::1', SMTP_URL: 'smtp://a#b', REDIS_URL: '' }
    expect(readEnvFile(path)).to.deep.equal({ variables, problems: [] })
  })

  it('treats a file that does not exist as empty', () => {
    expect(readEnvFile(path)).to.deep.equal({ variables: {}, problems: [] })
  })

  it('reports each line that Node.js would skip or misread', () => {
    writeFileSync(path, 'PORT 8080\nHOST=::1\nexport\nSECRET_KEY="abc\n')
    expect(readEnvFile(path).problems).to.deep.equal([
      `${path}: line 1 must be NAME=value, or a comment that starts with #`,
      `${path}: line 3 must be NAME=value, or a comment that starts with #`,
      `${path}: line 4 must end its value with the quote it starts with`,
    ])
  })

  it('reports a file that cannot be read', () => {
    mkdirSync(path)
    expect(readEnvFile(path).problems).to.deep.equal([`${path}: cannot be read (EISDIR). Correct or remove it`])
  })
})
