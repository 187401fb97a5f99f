#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the operator lists of this directory from the published architectures.

ResNet-50   He et al. 2015 (arXiv:1512.03385), table 1, with the stride of a block in its 3x3 convolution, as the
            common "v1.5" implementations have it (the 4.1 GMAC variant); batch norm folded into the convolutions.
BERT-base   Devlin et al. 2018 (arXiv:1810.04805): 12 layers, hidden 768, 12 heads, feed-forward 3072,
            vocabulary 30522, 512 positions; encoder and pooler.
GPT-2 small Radford et al. 2019: 12 layers, hidden 768, 12 heads, vocabulary 50257, 1024 positions; one decode
            step: one new token against a cache that holds KV_LENGTH tokens with the new one.

usage: generate.py [DIRECTORY]      (default: the directory of this script)
"""
import json
import os
import sys

KV_LENGTH = 512
SIZES = {'FLOAT': 4, 'FLOAT16': 2, 'INT32': 4, 'INT64': 8, 'INT8': 1, 'BOOL': 1}


def ceil16(n):
    return (n + 15) // 16


def nd(*shape, dtype='FLOAT16'):
    return {'dtype': dtype, 'format': 'ND', 'shape': list(shape)}


def nchw(*shape, dtype='FLOAT16'):
    return {'dtype': dtype, 'format': 'NCHW', 'shape': list(shape)}


def nc1hwc0(n, c, h, w):
    """Activations in blocks of 16 channels; "origin" keeps the true shape."""
    return {'dtype': 'FLOAT16', 'format': 'NC1HWC0', 'shape': [n, ceil16(c), h, w, 16], 'origin': [n, c, h, w]}


def fractal_z(cout, cin, kh, kw):
    """Convolution weights in 16x16 fractals."""
    return {'dtype': 'FLOAT16', 'format': 'FRACTAL_Z', 'shape': [ceil16(cin) * kh * kw, ceil16(cout), 16, 16],
            'origin': [cout, cin, kh, kw], 'weight': True}


def weight(*shape, dtype='FLOAT16'):
    return dict(nd(*shape, dtype=dtype), weight=True)


def size(tensor):
    n = SIZES[tensor['dtype']]
    for d in tensor['shape']:
        n *= d
    return n


class Model:
    def __init__(self, name, description):
        self.head = {'format': 1, 'name': name, 'description': description}
        self.inputs, self.outputs, self.ops = [], [], []

    def input(self, name, tensor):
        self.inputs.append(dict(name=name, **tensor))
        return tensor

    def output(self, name, tensor):
        self.outputs.append(dict(name=name, **tensor))

    def op(self, name, typ, inputs, output, state='static', **attrs):
        """Adds an operator; returns its (first) output."""
        outputs = output if isinstance(output, list) else [output]
        item = {'name': name, 'type': typ, 'state': state, 'inputs': inputs, 'outputs': outputs}
        if attrs:
            item['attrs'] = attrs
        self.ops.append(item)
        return outputs[0]

    def write(self, directory):
        weights = sum(size(t) for o in self.ops for t in o['inputs'] if t.get('weight'))
        # Enough for the largest operator: the runtime keeps inputs and outputs of one operator alive at a time.
        work = max(sum(size(t) for t in o['inputs'] + o['outputs'] if not t.get('weight')) for o in self.ops)
        head = dict(self.head, work_bytes=work, weight_bytes=weights)

        def line(x):
            return json.dumps(x, separators=(', ', ': '))

        def block(key, items):
            return '  "%s": [\n    %s\n  ]' % (key, ',\n    '.join(line(i) for i in items))

        text = '{\n' + ''.join('  "%s": %s,\n' % (k, line(v)) for k, v in head.items())
        text += ',\n'.join(block(k, v) for k, v in (('inputs', self.inputs), ('outputs', self.outputs),
                                                    ('ops', self.ops))) + '\n}\n'
        with open(os.path.join(directory, self.head['name'] + '.json'), 'w', encoding='ascii') as f:
            f.write(text)


def resnet50(batch):
    m = Model('resnet50_b%d' % batch, 'ResNet-50 (stride in the 3x3 convolutions), 224x224, batch %d, half '
              'precision, batch norm folded' % batch)

    def conv(name, x, cout, k, stride, relu):
        n, cin, h, w = x['origin']
        pad = k // 2
        ho, wo = (h + 2 * pad - k) // stride + 1, (w + 2 * pad - k) // stride + 1
        return m.op(name, 'Conv2D', [x, fractal_z(cout, cin, k, k), weight(cout)], nc1hwc0(n, cout, ho, wo),
                    strides=[stride, stride], pads=[pad] * 4, dilations=[1, 1], groups=1, fused_relu=int(relu))

    image = m.input('image', nchw(batch, 3, 224, 224))
    x = m.op('trans_TransData_0', 'TransData', [image], nc1hwc0(batch, 3, 224, 224))
    x = conv('conv1_relu', x, 64, 7, 2, True)
    x = m.op('maxpool', 'MaxPoolV3', [x], nc1hwc0(batch, 64, 56, 56), ksize=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage, (blocks, width, stride) in enumerate(((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)), 1):
        for block in range(blocks):
            base = 'layer%d.%d.' % (stage, block)
            s = stride if block == 0 else 1
            y = conv(base + 'conv1_relu', x, width, 1, 1, True)
            y = conv(base + 'conv2_relu', y, width, 3, s, True)
            y = conv(base + 'conv3', y, 4 * width, 1, 1, False)
            if block == 0:
                x = conv(base + 'downsample', x, 4 * width, 1, s, False)
            x = m.op(base + 'add', 'Add', [y, x], dict(y))
            x = m.op(base + 'relu', 'Relu', [x], dict(x))
    x = m.op('avgpool', 'ReduceMean', [x], nc1hwc0(batch, 2048, 1, 1), axes=[2, 3], keep_dims=1)
    x = m.op('trans_TransData_1', 'TransData', [x], nd(batch, 2048))
    x = m.op('fc', 'MatMulV2', [x, weight(1000, 2048), weight(1000)], nd(batch, 1000), transpose_x2=1)
    x = m.op('fc_Cast', 'Cast', [x], nd(batch, 1000, dtype='FLOAT'))
    m.output('logits', x)
    return m


def bert_base(seq):
    hidden, layers, heads, ffn, batch = 768, 12, 12, 3072, 1
    dim = hidden // heads
    m = Model('bert_base_s%d' % seq, 'BERT-base encoder and pooler, sequence %d, batch %d, half precision'
              % (seq, batch))
    ids = m.input('input_ids', nd(batch, seq, dtype='INT32'))
    types = m.input('token_type_ids', nd(batch, seq, dtype='INT32'))
    mask = m.input('attention_mask', nd(batch, 1, 1, seq))
    rows = nd(batch * seq, hidden)
    tokens = nd(batch, seq, hidden)

    def norm(name, x):
        stat = nd(*(x['shape'][:-1] + [1]))
        return m.op(name, 'LayerNormV3', [x, weight(hidden), weight(hidden)], [dict(x), stat, stat])

    def dense(name, x, n):
        k = x['shape'][-1]
        return m.op(name, 'MatMulV2', [x, weight(k, n), weight(n)], nd(x['shape'][0], n))

    word = m.op('embeddings/word_GatherV2', 'GatherV2', [weight(30522, hidden), ids], tokens, axis=0)
    kind = m.op('embeddings/type_GatherV2', 'GatherV2', [weight(2, hidden), types], tokens, axis=0)
    x = m.op('embeddings/Add_0', 'Add', [word, kind], tokens)
    x = m.op('embeddings/Add_1', 'Add', [x, weight(1, seq, hidden)], tokens)
    norm('embeddings/LayerNorm', x)
    x = rows
    scores = nd(batch, heads, seq, seq)
    split = nd(batch, heads, seq, dim)
    for i in range(layers):
        p = 'encoder/layer_%d/' % i
        q, k, v = (m.op(p + 'attention/%s_Transpose' % n, 'TransposeD',
                        [dense(p + 'attention/%s_MatMul' % n, x, hidden)], split, perm=[0, 2, 1, 3])
                   for n in ('query', 'key', 'value'))
        s = m.op(p + 'attention/scores_BatchMatMul', 'BatchMatMulV2', [q, k], scores, transpose_x2=1)
        s = m.op(p + 'attention/scale_Muls', 'Muls', [s], scores)
        s = m.op(p + 'attention/mask_Add', 'Add', [s, mask], scores)
        s = m.op(p + 'attention/Softmax', 'SoftmaxV2', [s], scores, axes=[-1])
        c = m.op(p + 'attention/context_BatchMatMul', 'BatchMatMulV2', [s, v], split)
        m.op(p + 'attention/context_Transpose', 'TransposeD', [c], rows, perm=[0, 2, 1, 3])
        y = dense(p + 'attention/output_MatMul', rows, hidden)
        y = m.op(p + 'attention/output_Add', 'Add', [y, x], rows)
        x = norm(p + 'attention/output_LayerNorm', y)
        y = dense(p + 'intermediate_MatMul', x, ffn)
        y = m.op(p + 'intermediate_Gelu', 'Gelu', [y], dict(y))
        y = dense(p + 'output_MatMul', y, hidden)
        y = m.op(p + 'output_Add', 'Add', [y, x], rows)
        x = norm(p + 'output_LayerNorm', y)
    first = m.op('pooler/StridedSliceD', 'StridedSliceD', [x], nd(batch, hidden))
    y = dense('pooler/MatMul', first, hidden)
    y = m.op('pooler/Tanh', 'Tanh', [y], dict(y))
    m.output('sequence_output', tokens)
    m.output('pooled_output', y)
    return m


def gpt2_decode(kv):
    hidden, layers, heads, ffn, vocab = 768, 12, 12, 3072, 50257
    dim = hidden // heads
    m = Model('gpt2_decode', 'GPT-2 small, one decode step of one token, cache of %d tokens with the new one, half '
              'precision' % kv)
    token = m.input('token', nd(1, dtype='INT32'))
    position = m.input('position', nd(1, dtype='INT32'))
    row = nd(1, hidden)

    def norm(name, x):
        return m.op(name, 'LayerNormV3', [x, weight(hidden), weight(hidden)], [dict(x), nd(1, 1), nd(1, 1)],
                    'dynamic')

    def dense(name, x, n):
        k = x['shape'][-1]
        return m.op(name, 'MatMulV2', [x, weight(k, n), weight(n)], nd(1, n), 'dynamic')

    w = m.op('wte_GatherV2', 'GatherV2', [weight(vocab, hidden), token], row, 'dynamic', axis=0)
    p = m.op('wpe_GatherV2', 'GatherV2', [weight(1024, hidden), position], row, 'dynamic', axis=0)
    x = m.op('embed_Add', 'Add', [w, p], row, 'dynamic')
    cache = nd(1, heads, kv, dim)
    head = nd(1, heads, 1, dim)
    for i in range(layers):
        b = 'h.%d/' % i
        y = norm(b + 'ln_1_LayerNorm', x)
        y = dense(b + 'attn/c_attn_MatMul', y, 3 * hidden)
        m.op(b + 'attn/SplitVD', 'SplitVD', [y], [row, row, row], 'dynamic', axis=1)
        m.op(b + 'attn/key_ScatterUpdate', 'ScatterUpdate', [cache, position, head], cache, 'dynamic', axis=2)
        m.op(b + 'attn/value_ScatterUpdate', 'ScatterUpdate', [cache, position, head], cache, 'dynamic', axis=2)
        m.op(b + 'attn/IncreFlashAttention', 'IncreFlashAttention', [head, cache, cache], head, 'dynamic',
             num_heads=heads)
        y = dense(b + 'attn/c_proj_MatMul', row, hidden)
        x = m.op(b + 'attn/residual_Add', 'Add', [x, y], row, 'dynamic')
        y = norm(b + 'ln_2_LayerNorm', x)
        y = dense(b + 'mlp/c_fc_MatMul', y, ffn)
        y = m.op(b + 'mlp/Gelu', 'Gelu', [y], dict(y), 'dynamic')
        y = dense(b + 'mlp/c_proj_MatMul', y, hidden)
        x = m.op(b + 'mlp/residual_Add', 'Add', [x, y], row, 'dynamic')
    x = norm('ln_f_LayerNorm', x)
    x = m.op('lm_head_MatMul', 'MatMulV2', [x, weight(vocab, hidden)], nd(1, vocab), 'dynamic', transpose_x2=1)
    x = m.op('next_ArgMax', 'ArgMaxV2', [x], nd(1, dtype='INT32'), 'dynamic', axes=[-1])
    m.output('next_token', x)
    return m


def main():
    directory = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    for model in (resnet50(1), resnet50(32), bert_base(128), gpt2_decode(KV_LENGTH)):
        model.write(directory)


if __name__ == '__main__':
    main()
