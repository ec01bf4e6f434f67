import { SECOND } from '../../src/platform/time.ts'
import type { Fault } from './fault.ts'
import type { InjectedFault } from './inject.ts'

export function describeFault({ fault, isFailpointReached, skipReason, server, recoveryMs }: InjectedFault): string {
  const moment = 'failpoint' in fault ? fault.failpoint : undefined
  const reached = isFailpointReached
    ? ` at failpoint "${moment}"`
    : ` at a random moment, failpoint "${moment}" was missed`
  const recovery =
    recoveryMs === undefined
      ? '; new customers were not answered in time'
      : `; answered again after ${(recoveryMs / SECOND).toFixed(1)} s`
  const end = skipReason === undefined ? recovery : `; skipped: ${skipReason}`
  return `${describe(fault, server)}${moment ? reached : ''}${fault.kind === 'kill' ? '' : end}`
}

function describe(fault: Fault, server: string | undefined): string {
  const seconds = 'durationMs' in fault ? ` for ${(fault.durationMs / SECOND).toFixed(1)} s` : ''
  switch (fault.kind) {
    case 'kill':
      return `kill ${server ?? fault.target}`
    case 'cut':
      return `cut ${fault.scope === 'one' || fault.scope === 'process' ? `${fault.scope} (${fault.role})` : fault.scope}${fault.scope === 'repeated' ? seconds : ''}`
    case 'partition':
      return `partition ${fault.scope === 'all' ? 'all' : fault.role}${seconds}, ${fault.keepsConnections ? 'connections resume' : 'connections stay silent'}`
    case 'freeze':
      return `freeze ${fault.role}${seconds}`
    case 'lock':
      return `lock ${fault.table}${seconds}`
    case 'empty':
      return `empty the queue${seconds}`
    case 'skew':
      return `skew ${fault.role} by ${fault.offsetMs} ms`
    case 'disk':
      return `disk full${seconds}`
    case 'node':
      return `stop ${server ?? 'a worker node'}${seconds}`
  }
}
