"""How many tokens each proposer gets through per target pass, on real edit cases.

    python -m benchmarks.drafting FILES... [--target replay|NAME] [--draft NAME] [--gamma-max N]
        [--formats lazy] [--sets a,b] [--limit N] [--json OUT] [--recovery]

The *replay* target writes the expected text as the real tokenizer splits it, so that figures do not
depend on a model's mistakes; with a model's NAME the real target writes.
"""
