import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { copyBinaries } from './copy-binaries.ts'
import { EmbeddedPostgresError, errorCode } from './embedded-postgres-error.ts'
import { runProgram, type ProgramEnvironment } from './run-program.ts'

export type Binaries = { initdb: string; postgres: string; pgCtl: string; major: number }

/** Finds the programs and verifies that they run under the account of the server. */
export async function findBinaries(binDir: string | undefined, environment: ProgramEnvironment): Promise<Binaries> {
  if (binDir !== undefined) return probe(path.resolve(binDir), 'PG_BIN_DIR', environment)
  const native = packagedBinaries()
  const packaged = path.join(native, 'bin')
  const isHidden = environment.account !== undefined && !(await canRun(packaged, environment))
  return probe(isHidden ? path.join(copyBinaries(native), 'bin') : packaged, 'The installed package', environment)
}

export type System = { platform: string; arch: string; isMusl: boolean }

/** Returns the name of the npm package with the programs for a system. */
export function binariesPackage({ platform, arch, isMusl }: System): string {
  const name = BUILDS[platform]?.includes(arch) && !isMusl ? `${NAMES[platform] ?? platform}-${arch}` : undefined
  if (name !== undefined) return `@embedded-postgres/${name}`
  const system = `${platform} on ${arch}${isMusl ? ' with musl libc (Alpine)' : ''}`
  throw new EmbeddedPostgresError(
    `There is no embedded PostgreSQL for ${system}. Set DATABASE_URL to a PostgreSQL server of your own.`,
  )
}

const NAMES: Record<string, string> = { win32: 'windows' }
const BUILDS: Record<string, string[]> = {
  darwin: ['arm64', 'x64'],
  linux: ['arm', 'arm64', 'ia32', 'ppc64', 'x64'],
  win32: ['x64'],
}

function packagedBinaries(): string {
  const isMusl = process.platform === 'linux' && !('glibcVersionRuntime' in reportHeader())
  const name = binariesPackage({ platform: process.platform, arch: process.arch, isMusl })
  try {
    const native = path.resolve(path.dirname(createRequire(import.meta.url).resolve(name)), '..', 'native')
    restoreSymlinks(native)
    return native
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The package ${name}, which contains PostgreSQL, is missing or damaged. Install it without --omit=optional, or set DATABASE_URL to a PostgreSQL server of your own.`,
      { cause },
    )
  }
}

function reportHeader(): object {
  const report: { header?: object } = process.report.getReport()
  return report.header ?? {}
}

/**
 * Creates the symbolic links that the programs need to find their libraries. npm packages cannot contain links: an
 * install script creates them from a list, and many installations do not run install scripts.
 */
export function restoreSymlinks(native: string): void {
  const list = path.join(native, 'pg-symlinks.json')
  if (!fs.existsSync(list)) return
  const links: { source: string; target: string }[] = JSON.parse(fs.readFileSync(list, 'utf8'))
  for (const { source, target } of links) {
    const [file, link] = [source, target].map((name) => path.resolve(native, '..', name))
    if (file === undefined || link === undefined || fs.lstatSync(link, { throwIfNoEntry: false })) continue
    try {
      fs.symlinkSync(path.relative(path.dirname(link), file), link)
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error
    }
  }
}

async function probe(directory: string, origin: string, environment: ProgramEnvironment): Promise<Binaries> {
  const program = (name: string) => programPath(directory, name)
  const outcome = await runProgram(program('postgres'), ['--version'], environment).catch((error: Error) => ({
    output: error.message,
  }))
  const major = Number(/\(PostgreSQL\) (\d+)/.exec(outcome.output)?.[1])
  if (Number.isInteger(major) && fs.existsSync(program('initdb'))) {
    return { initdb: program('initdb'), postgres: program('postgres'), pgCtl: program('pg_ctl'), major }
  }
  throw new EmbeddedPostgresError(
    `${origin} has no PostgreSQL in ${directory} that runs here (${outcome.output.trim() || 'no output'}). ` +
      `Set PG_BIN_DIR to a folder with initdb and postgres, or DATABASE_URL to a PostgreSQL server of your own.`,
  )
}

async function canRun(directory: string, environment: ProgramEnvironment): Promise<boolean> {
  const attempt = runProgram(programPath(directory, 'postgres'), ['--version'], environment)
  return attempt.then(({ code }) => code === 0).catch(() => false)
}

function programPath(directory: string, name: string): string {
  return path.join(directory, process.platform === 'win32' ? `${name}.exe` : name)
}
