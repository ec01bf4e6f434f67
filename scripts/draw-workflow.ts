import { escapeHtml } from '../src/http/docs/html.ts'
import type { WorkflowDefinition } from '../src/workflow-definition.ts'

export type Bubble = { from: string; body: string }
type Node = { id: string; title: string; detail: string }
type Edge = { from: number; to: number; label: string }

const NODE = { width: 270, height: 46, gap: 30 }
const PHONE = { x: 24, width: 300 }
const GRAPH_X = 396
/** Room for the edges that pass other nodes, on the right. */
const RAIL_STEP = 26
const MARGIN = 24
const HEAD = 44
const LINE = 18
/** Characters of a line of a bubble. The picture cannot measure the font of its viewer, so the lines are short. */
const LINE_LENGTH = 32

const STYLE = `
  svg { --paper: #ffffff; --ink: #1f2430; --soft: #667085; --line: #b6bdc9; --box: #f4f5f8; --lit: #efeafe; --accent: #6941c6; --mine: #d9f2e2 }
  @media (prefers-color-scheme: dark) { svg { --paper: #14161c; --ink: #e8eaf0; --soft: #9aa3b2; --line: #4a5160; --box: #1f232c; --lit: #2e2553; --accent: #b69dff; --mine: #1d4330 } }
  text { font: 13px system-ui, sans-serif; fill: var(--ink) }
  .soft { fill: var(--soft); font-size: 12px }
  .label { paint-order: stroke; stroke: var(--paper); stroke-width: 4px }
  .head { font-weight: 600 }
  .paper { fill: var(--paper) }
  .box { fill: var(--box); stroke: var(--line) }
  .lit { fill: var(--lit); stroke: var(--accent) }
  .mine { fill: var(--mine) }
  .theirs { fill: var(--box) }
  path { fill: none; stroke: var(--line); stroke-width: 1.5 }
  path.used { stroke: var(--accent); stroke-width: 2 }
  .tip { fill: var(--line) }
  .tip.used { fill: var(--accent) }
`

/**
 * Draws a conversation beside its workflow as SVG, in the colours that the viewer prefers. `used` are the IDs of the
 * steps that were executed, in their order.
 */
export function drawWorkflow(
  { name, definition }: { name: string; definition: WorkflowDefinition },
  { customer, bubbles, used }: { customer: string; bubbles: Bubble[]; used: string[] },
): string {
  const nodes: Node[] = [describeTrigger(definition), ...definition.steps.map(describeStep)]
  const edges = listEdges(definition)
  const path = ['', ...used].map((id) => nodes.findIndex((node) => node.id === id))
  const isUsed = ({ from, to }: Edge): boolean => path.some((at, index) => at === from && path[index + 1] === to)
  const phone = drawPhone(bubbles)
  const height = Math.max(phone.height, HEAD + nodes.length * (NODE.height + NODE.gap)) + MARGIN
  // Those to near nodes are further left, so that few lines cross.
  const rails = edges
    .filter(({ from, to }) => to !== from + 1)
    .toSorted((one, other) => one.to - one.from - (other.to - other.from))
  const width = GRAPH_X + NODE.width + 40 + rails.length * RAIL_STEP + 60
  // The used edges are drawn last, above the others.
  const drawn = edges.toSorted((one, other) => Number(isUsed(one)) - Number(isUsed(other)))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escapeHtml(`The workflow "${name}" with a conversation`)}</title>
<style>${STYLE}</style>
<rect class="paper" width="${width}" height="${height}" rx="12"/>
<text class="head" x="${PHONE.x}" y="30">${escapeHtml(customer)}</text>
<text class="head" x="${GRAPH_X}" y="30">${escapeHtml(name)}</text>
${phone.svg}
${drawn.map((edge) => drawEdge(edge, { isUsed: isUsed(edge), rail: rails.indexOf(edge) })).join('\n')}
${nodes.map((node, index) => drawNode(node, index, path.includes(index))).join('\n')}
</svg>
`
}

function describeTrigger({ triggers }: WorkflowDefinition): Node {
  const [trigger] = triggers ?? []
  const values = trigger && 'match' in trigger ? trigger.match?.values : undefined
  return { id: '', title: trigger?.type ?? 'trigger', detail: values ? values.join(', ') : 'trigger' }
}

function describeStep(step: WorkflowDefinition['steps'][number]): Node {
  const message = 'message' in step ? step.message : undefined
  const body = typeof message === 'object' && 'body' in message ? message.body : undefined
  return { id: step.id, title: step.id, detail: body === undefined ? step.type : `${step.type}: ${String(body)}` }
}

/** Lists the edges between the trigger, at 0, and the steps. */
function listEdges({ steps }: WorkflowDefinition): Edge[] {
  const ids = steps.map(({ id }) => id)
  const targets = steps.flatMap((step, index) => {
    const named = listTargets(step, ids).map(({ id, label }) => ({ from: index + 1, to: ids.indexOf(id) + 1, label }))
    const isLast = index === steps.length - 1
    const continues = !isLast && !('next' in step) && !['branch', 'stop'].includes(step.type)
    return [...(continues ? [{ from: index + 1, to: index + 2, label: '' }] : []), ...named]
  })
  return [{ from: 0, to: 1, label: '' }, ...targets]
}

/** Fields that name the step to continue with, at any depth of a step. */
const TARGETS = /^(?:next|else|on[A-Z]\w*)$/

function listTargets(value: unknown, ids: string[], name = ''): { id: string; label: string }[] {
  if (typeof value !== 'object' || value === null) return []
  const own = 'name' in value && typeof value.name === 'string' ? value.name : name
  return Object.entries(value).flatMap(([key, field]) => {
    if (typeof field !== 'string') return listTargets(field, ids, own)
    if (!TARGETS.test(key) || !ids.includes(field)) return []
    return [{ id: field, label: key === 'next' ? own : key.replace(/^on/, '').toLowerCase() }]
  })
}

function computeTop(index: number): number {
  return HEAD + index * (NODE.height + NODE.gap)
}

function drawNode({ title, detail }: Node, index: number, isUsed: boolean): string {
  const top = computeTop(index)
  const radius = index === 0 ? NODE.height / 2 : 8
  return `<rect class="${isUsed ? 'lit' : 'box'}" x="${GRAPH_X}" y="${top}" width="${NODE.width}" height="${NODE.height}" rx="${radius}"/>
<text class="head" x="${GRAPH_X + 16}" y="${top + 19}">${escapeHtml(title)}</text>
<text class="soft" x="${GRAPH_X + 16}" y="${top + 36}">${escapeHtml(shorten(detail, 34))}</text>`
}

function drawEdge({ from, to, label }: Edge, { isUsed, rail }: { isUsed: boolean; rail: number }): string {
  const style = isUsed ? 'used' : ''
  const start = computeTop(from) + NODE.height
  const end = computeTop(to)
  if (rail === -1) {
    const x = GRAPH_X + NODE.width / 2
    return `<path class="${style}" d="M${x} ${start}V${end - 6}"/>${drawTip(x, end, style)}${drawLabel(x + 8, start + 19, label)}`
  }
  const right = GRAPH_X + NODE.width
  const x = right + 24 + rail * RAIL_STEP
  const [y1, y2] = [computeTop(from) + NODE.height / 2, end + NODE.height / 2]
  const line = `M${right} ${y1}H${x - 8}q8 0 8 8V${y2 - 8}q0 8 -8 8H${right + 7}`
  const tip = `<polygon class="tip ${style}" points="${right + 1},${y2} ${right + 8},${y2 - 4} ${right + 8},${y2 + 4}"/>`
  return `<path class="${style}" d="${line}"/>${tip}${drawLabel(right + 14, y2 - 7, label)}`
}

function drawTip(x: number, y: number, style: string): string {
  return `<polygon class="tip ${style}" points="${x},${y} ${x - 4},${y - 8} ${x + 4},${y - 8}"/>`
}

function drawLabel(x: number, y: number, label: string): string {
  return label === '' ? '' : `<text class="soft label" x="${x}" y="${y}">${escapeHtml(label)}</text>`
}

function drawPhone(bubbles: Bubble[]): { svg: string; height: number } {
  let top = HEAD
  const parts = bubbles.map(({ from, body }) => {
    const lines = wrap(body)
    const width = Math.min(PHONE.width - 30, Math.max(...lines.map(({ length }) => length)) * 7.2 + 28)
    const height = lines.length * LINE + 18
    const isCustomer = from === 'customer'
    const x = isCustomer ? PHONE.x : PHONE.x + PHONE.width - width
    const texts = lines.map(
      (line, index) => `<text x="${x + 14}" y="${top + 22 + index * LINE}">${escapeHtml(line)}</text>`,
    )
    const svg = `<rect class="${isCustomer ? 'theirs' : 'mine'}" x="${x}" y="${top}" width="${width}" height="${height}" rx="12"/>${texts.join('')}`
    top += height + 12
    return svg
  })
  return { svg: parts.join('\n'), height: top }
}

function wrap(text: string): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < LINE_LENGTH) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

function shorten(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).trimEnd()}…`
}
