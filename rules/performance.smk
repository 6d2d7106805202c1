"""
Performance: the page on what builds cost, from measurements that come along with the program.

Inputs:  benchmarks/results/{scale,side_by_side}.json
Outputs: <results>/performance/, with fragments and figures
"""


rule render_performance:
    """Write fragments and figures of what was measured of the program, the same for every archive."""
    input:
        scale="benchmarks/results/scale.json",
        side_by_side="benchmarks/results/side_by_side.json",
        schemas=collect("schemas/{name}.schema.yaml", name=["scale", "side_by_side"]),
    output:
        performance=directory("<results>/performance"),
    log:
        "<logs>/render_performance.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("render_performance"),
    shell:
        """
        python -m ccreport render_performance \
            --scale {input.scale:q} \
            --side-by-side {input.side_by_side:q} \
            --output {output.performance:q} \
            &>{log:q}
        """
