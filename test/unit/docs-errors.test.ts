import { expect } from 'chai'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format } from 'prettier'
import ts from 'typescript'
import { CODE_SECTIONS, ERROR_GROUPS } from '../../src/error-codes/index.ts'
import { readDocument, ROOT } from '../support/documents.ts'
import { at, readSourceFiles, type SourceFile, walk } from '../support/source-files.ts'

const PAGE = 'docs/errors.md'
const sources = readSourceFiles(['src']).filter(({ path }) => !path.startsWith('src/error-codes/'))
const sectionCodes = (name: string) => Object.keys(CODE_SECTIONS.find(({ prefix }) => prefix === name)?.codes ?? {})

describe('docs/errors.md', () => {
  it('explains every code of the registry', async () => {
    const expected = await formatPage()
    if (process.env['WRITE_DOCS']) writeFileSync(join(ROOT, PAGE), expected)
    const { text } = readDocument(PAGE)
    expect(text, 'WRITE_DOCS=1 npx mocha test/unit/docs-errors.test.ts writes it').to.equal(expected)
  })
})

describe('the registry of codes', () => {
  it('has every code once in its section, with a meaning and a remedy that are sentences', () => {
    const sections = [
      Object.assign({}, ...ERROR_GROUPS.map(({ errors }) => errors)),
      ...CODE_SECTIONS.map(({ codes }) => codes),
    ]
    const count = ERROR_GROUPS.reduce((sum, { errors }) => sum + Object.keys(errors).length, 0)
    expect(Object.keys(sections[0]).length).to.equal(count)
    for (const [code, { meaning, remedy }] of sections.flatMap((section) =>
      Object.entries<Record<string, string>>(section),
    )) {
      expect(code).to.match(CODE)
      for (const text of [meaning, remedy]) expect(text, code).to.match(/^[`A-Z].*\.$/)
    }
  })

  it('has no code that the source does not use', () => {
    const used = new Set(sources.flatMap((file) => listTexts(file)))
    const codes = [...ERROR_GROUPS.map(({ errors }) => errors), ...CODE_SECTIONS.map(({ codes: others }) => others)]
    // Problems of references are `unknown_${kind}`.
    const isUsed = (code: string) =>
      used.has(code) || (used.has('unknown_') && code.startsWith('unknown_') && used.has(code.slice('unknown_'.length)))
    expect(codes.flatMap((entries) => Object.keys(entries)).filter((code) => !isUsed(code))).to.deep.equal([])
  })

  it('has the code of every step and run that fails', () => {
    expect(listUnknown(sources, 'step', listStepCodes)).to.deep.equal([])
  })

  it('has the code of every problem of a definition', () => {
    expect(listUnknown(sources, 'problem', listProblemCodes)).to.deep.equal([])
  })
})

/** Lists the literal texts of a file, and the beginnings of its templates. */
function listTexts({ ast }: SourceFile): string[] {
  const texts: string[] = []
  walk(ast, (node) => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node)) texts.push(node.text)
  })
  return texts
}

const CODE = /^[a-z][a-z_]*$/

type Found = { code: string; node: ts.Node }

function listUnknown(files: SourceFile[], prefix: string, list: (file: SourceFile) => Found[]): string[] {
  const known = new Set(sectionCodes(prefix))
  const found = files.flatMap((file) => list(file).map(({ code, node }) => ({ code, place: at(file, node) })))
  expect(found.length).to.be.greaterThan(20)
  return found.filter(({ code }) => !known.has(code)).map(({ code, place }) => `${place}: ${code}`)
}

/** Functions and errors whose first argument is the code of a failed step or run. */
const STEP_FAILURES = new Set(['StepError', 'OutboundError', 'failRun', 'toFailedResult', 'failure', 'reject'])
const STEP_FILES =
  /^src\/(?:engine\/(?:decide|mailbox|language|replay)|steps|platform\/outbound|features\/(?:external-calls|tools|ai-provider|credentials|replay))\//

function listStepCodes(file: SourceFile): Found[] {
  if (!STEP_FILES.test(file.path)) return []
  return listFound(file, (node) => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      return STEP_FAILURES.has(node.expression.getText()) ? node.arguments?.[0] : undefined
    }
    return findErrorCode(node)
  })
}

/** Returns the code of `{ code: '…', message }`, unless it belongs to an issue of a schema. */
function findErrorCode(node: ts.Node): ts.Expression | undefined {
  if (!ts.isObjectLiteralExpression(node)) return undefined
  const names = node.properties.map(({ name }) => name?.getText())
  if (!names.includes('message') || names.includes('path') || names.includes('severity')) return undefined
  const code = node.properties.find((property) => property.name?.getText() === 'code')
  const value = code && ts.isPropertyAssignment(code) ? code.initializer : undefined
  return value?.getText() === "'custom'" ? undefined : value
}

const PROBLEM_FILES =
  /^src\/(?:engine\/(?:compile|language)|triggers|conditions|steps|features\/(?:definition-checks|workflow-tests|workflows))\//

function listProblemCodes(file: SourceFile): Found[] {
  if (!PROBLEM_FILES.test(file.path)) return []
  return listFound(file, (node) => {
    if (ts.isCallExpression(node)) {
      const name = node.expression.getText()
      if (name === 'problemAt') return node.arguments[2]
      if (name === 'reportCycle') return node.arguments[1]
      return name === 'problem' || name === 'warn' ? node.arguments[0] : undefined
    }
    if (!ts.isPropertyAssignment(node) || node.name.getText() !== 'code') return undefined
    const names = node.parent.properties.map(({ name }) => name?.getText())
    const isProblem = names.includes('severity') || names.includes('stepId') || names.length === 1
    return isProblem ? node.initializer : undefined
  })
}

function listFound(file: SourceFile, find: (node: ts.Node) => ts.Expression | undefined): Found[] {
  const found: Found[] = []
  walk(file.ast, (node) => {
    const code = find(node)
    if (code && ts.isStringLiteral(code) && CODE.test(code.text)) found.push({ code: code.text, node })
  })
  return found
}

async function formatPage(): Promise<string> {
  const groups = ERROR_GROUPS.map(({ title, errors }) => {
    const rows = Object.entries(errors).map(
      ([code, { status, meaning, remedy }]) => `| ${anchor(code, code)} | ${status} | ${meaning} | ${remedy} |`,
    )
    return [`## ${title}`, ['| Code | Status | Meaning | Remedy |', '| --- | --- | --- | --- |', ...rows].join('\n')]
  })
  const sections = CODE_SECTIONS.map(({ title, prefix, introduction, codes }) => {
    const rows = Object.entries(codes).map(
      ([code, { meaning, remedy }]) => `| ${anchor(`${prefix}-${code}`, code)} | ${meaning} | ${remedy} |`,
    )
    return [`## ${title}`, introduction, ['| Code | Meaning | Remedy |', '| --- | --- | --- |', ...rows].join('\n')]
  })
  return format([...INTRODUCTION, ...groups.flat(), ...sections.flat()].join('\n\n'), { parser: 'markdown' })
}

const INTRODUCTION = [
  '# Errors',
  'The body of an error has its code as `code`, and the address of its explanation on this server as `docUrl`: `/docs/errors#contact_blocked`. [API](api.md#errors) describes the form of errors and the order of checks. Errors with the status 401, 403 or 429 may have only a text.',
  '`src/error-codes/` has these texts, and `test/unit/docs-errors.test.ts` writes this page.',
]

function anchor(id: string, code: string): string {
  return `<a id="${id}"></a>\`${code}\``
}
