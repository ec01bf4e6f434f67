import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { DOCS_PATH } from '../paths.ts'
import { prepareAnswer, type StaticAnswer } from '../static-answer.ts'
import type { AssetPaths } from './layout.ts'

/** The programs of pages, as TypeScript in the source and as one file of JavaScript each in a compiled build. */
export const SCRIPTS = ['guide', 'reference'] as const
export const STYLE_FILE = 'site.css'

const FOLDER = new URL('./browser/', import.meta.url)

export type Assets = { paths: AssetPaths; answers: Map<string, StaticAnswer> }

/** Reads the files that pages load. Their names change with their contents, so that browsers keep them. */
export async function loadAssets(): Promise<Assets> {
  const style = await prepareAnswer('text/css; charset=utf-8', await readFile(new URL(STYLE_FILE, FOLDER)))
  const [guide, reference] = await Promise.all(
    SCRIPTS.map(async (name) => prepareAnswer('text/javascript; charset=utf-8', await readScript(name))),
  )
  if (!guide || !reference) throw new Error('A script of the documentation is missing')
  const paths = {
    style: `${DOCS_PATH}/assets/site-${style.hash}.css`,
    guideScript: `${DOCS_PATH}/assets/guide-${guide.hash}.js`,
    referenceScript: `${DOCS_PATH}/assets/reference-${reference.hash}.js`,
  }
  const answers = new Map([
    [paths.style, style],
    [paths.guideScript, guide],
    [paths.referenceScript, reference],
  ])
  return { paths, answers }
}

async function readScript(name: string): Promise<string> {
  const compiled = new URL(`${name}.js`, FOLDER)
  if (existsSync(compiled)) return readFile(compiled, 'utf8')
  return bundleScript(new URL(`${name}.ts`, FOLDER))
}

/** Bundles a program of pages as small JavaScript for browsers of the last two years. */
export async function bundleScript(source: URL): Promise<string> {
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(source)],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2023',
    ignoreAnnotations: true,
    logLevel: 'silent',
  })
  return outputFiles.map(({ text }) => text).join('')
}
