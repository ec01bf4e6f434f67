import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import fc from 'fast-check'
import { detectEncoding, toUtf8 } from '../../../src/platform/csv/decode-text.ts'
import { CsvMalformedError, type CsvRow, detectDelimiter, readCsv } from '../../../src/platform/csv/read-csv.ts'
import { fromCell, toCsvLine } from '../../../src/platform/csv/write-csv.ts'
import { createTempDir, type TempDir } from '../../support/temp-dir.ts'

const START = { bytes: 0, row: 0 }

/** Opens a text as a file that is read in small parts. */
function toSource(content: string, { delimiter, partBytes }: { delimiter: string; partBytes: number }) {
  const bytes = Buffer.from(content)
  return {
    delimiter,
    async open(start: number) {
      const parts = []
      for (let index = start; index < bytes.length; index += partBytes)
        parts.push(bytes.subarray(index, index + partBytes))
      return Readable.from(parts)
    },
  }
}

async function readAll(content: string, { delimiter = ',', start = START, partBytes = 7 } = {}): Promise<CsvRow[]> {
  const rows: CsvRow[] = []
  for await (const row of readCsv(toSource(content, { delimiter, partBytes }), start)) rows.push(row)
  return rows
}

const toCells = (rows: CsvRow[]) => rows.map(({ row, cells, problem }) => [row, cells ?? problem])

describe('reading CSV', () => {
  it('reads quoted line breaks, delimiters and quotes, with every kind of line break', async () => {
    const content = 'a,b\r\n"x\r\ny","1,2"\n"say ""hi""",\rlast,row'
    expect(toCells(await readAll(content))).to.deep.equal([
      [1, ['a', 'b']],
      [2, ['x\r\ny', '1,2']],
      [3, ['say "hi"', '']],
      [4, ['last', 'row']],
    ])
  })

  it('reads rows without content as rows without cells', async () => {
    expect(toCells(await readAll('a;b\n\n;\nx;y\n\n', { delimiter: ';' }))).to.deep.equal([
      [1, ['a', 'b']],
      [2, []],
      [3, []],
      [4, ['x', 'y']],
      [5, []],
    ])
  })

  it('reports a row of more than 1,000 cells, and reads the lines after it', async () => {
    const content = `a,b\n${','.repeat(1000)}\n${','.repeat(999)}x\n`
    const rows = toCells(await readAll(content, { partBytes: 65_536 }))
    expect(rows[1]).to.deep.equal([2, 'The row has more than 1000 cells'])
    expect(rows[2]?.[1]).to.have.length(1000)
  })

  it('reports a row of 20 million delimiters before it takes their memory', async () => {
    const content = `a,b\n${','.repeat(20 * 1024 * 1024)}\nx,y\n`
    const started = process.memoryUsage().rss
    const rows = toCells(await readAll(content, { partBytes: 65_536 }))
    expect(process.memoryUsage().rss - started).to.be.below(150 * 1024 * 1024)
    expect(rows[1]?.[1]).to.match(/has more than 65536 characters/)
    expect(rows[2]).to.deep.equal([3, ['x', 'y']])
  })

  it('does not read on from the end of a file whose last row cannot be read', async () => {
    for (const end of ['', '\n', '\r\n', '\r']) {
      const content = `a,b\n"open,1${end}`
      const source = toSource(content, { delimiter: ',', partBytes: 7 })
      const rows: CsvRow[] = []
      const open = (start: number) => {
        expect(start).to.be.below(content.length)
        return source.open(start)
      }
      for await (const row of readCsv({ delimiter: ',', open }, START)) rows.push(row)
      expect(toCells(rows)).to.deep.equal([
        [1, ['a', 'b']],
        [2, 'The row has a quote that is not closed'],
      ])
    }
  })

  it('reports a quote that is not closed in its row, and reads the lines after it', async () => {
    const rows = toCells(await readAll(`a,b\r\n"open,1\r\nx,y\r\n${'z'.repeat(70_000)},1\r\nend,1\r\n`))
    expect(rows.map(([row]) => row)).to.deep.equal([1, 2, 3, 4, 5])
    expect(rows[1]?.[1]).to.match(/a quote that is not closed/)
    expect(rows[2]?.[1]).to.deep.equal(['x', 'y'])
    expect(rows[3]?.[1]).to.match(/has more than 65536 characters/)
    expect(rows[4]?.[1]).to.deep.equal(['end', '1'])
  })

  it('gives up a file of which more than 100 rows cannot be read', async () => {
    const content = `a\n${`${'z'.repeat(70_000)}\n`.repeat(101)}`
    const error = await readAll(content, { partBytes: 65_536 }).catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(CsvMalformedError)
  })

  it('goes on from the position behind any row', async () => {
    const cell = fc.string({ unit: fc.constantFrom('a', 'é', '"', ',', '\n', '\r', ' ', '💬'), maxLength: 6 })
    const table = fc.array(fc.array(cell, { minLength: 1, maxLength: 3 }), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(table, async (cells) => {
        const content = cells
          .map((row) => `${row.map((value) => `"${value.replaceAll('"', '""')}"`).join(',')}\r\n`)
          .join('')
        const rows = await readAll(content)
        const expected = cells.map((row) => (row.some((value) => value !== '') ? row : []))
        expect(rows.map((row) => row.cells)).to.deep.equal(expected)
        for (const [index, { next }] of rows.entries())
          expect(await readAll(content, { start: next })).to.deep.equal(rows.slice(index + 1))
      }),
      { numRuns: 100 },
    )
  })

  it('takes the delimiter that the first line has most of, outside of quotes', () => {
    expect(detectDelimiter('name,phone;x,email\n;;;;')).to.equal(',')
    expect(detectDelimiter('"a,b,c";phone\n')).to.equal(';')
    expect(detectDelimiter('name\tphone')).to.equal('\t')
    expect(detectDelimiter('name')).to.equal(',')
  })
})

describe('decoding a text file', () => {
  let folder: TempDir

  before(() => {
    folder = createTempDir()
  })
  after(() => folder.remove())

  async function decode(bytes: Buffer): Promise<[string, string]> {
    const path = join(folder.path, 'text')
    writeFileSync(path, bytes)
    const { encoding } = await detectEncoding(path)
    const parts = Array.from(bytes, (byte) => Buffer.from([byte]))
    return [encoding, await text(Readable.from(parts).pipe(toUtf8(encoding)))]
  }

  it('recognizes UTF-8, UTF-16 by its mark, and Windows-1252, also in single bytes', async () => {
    const sample = 'Zoë, “São Paulo” — 5 €'
    const swapped = Buffer.from(`\ufeff${sample}`, 'utf16le').swap16()
    expect(await decode(Buffer.from(sample))).to.deep.equal(['utf-8', sample])
    expect(await decode(Buffer.from(`\ufeff${sample}`))).to.deep.equal(['utf-8', sample])
    expect(await decode(Buffer.from(`\ufeff${sample}`, 'utf16le'))).to.deep.equal(['utf-16le', sample])
    expect(await decode(swapped)).to.deep.equal(['utf-16be', sample])
    const windows = Buffer.from('Zo\xeb, \x93S\xe3o Paulo\x94 \x97 5 \x80', 'latin1')
    expect(await decode(windows)).to.deep.equal(['windows-1252', sample])
  })
})

describe('writing CSV', () => {
  it('keeps spreadsheets from executing a cell, and reading takes that back', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('=', "'", '+', '-', '@', '1', 'a'), maxLength: 5 }), (cell) => {
        const written = toCsvLine([cell]).slice(0, -2)
        expect(written).to.not.match(/^[=@]|^[+-](?!\d+$)/)
        expect(fromCell(written)).to.equal(cell)
      }),
    )
    expect(toCsvLine(['+14155550100', null, '=1+1', 'a"b', 5])).to.equal(`+14155550100,,'=1+1,"a""b",5\r\n`)
  })
})
