"""
Report: everything the pages show as fragments, and the pages rendered with them.

Inputs:  <results>/tables/, <results>/explorer/, reports/, and of each evaluation its summaries, figures, cells,
         comparisons and PDF
Outputs: <results>/sections.txt, the evaluations that are sections of the report
         <results>/{evaluation}/fragments/
         <results>/{evaluation}/section/, the pages of a section
         <results>/report/ and <results>/{evaluation}/report/, the pages of a report with and without sections
         <results>/converted/, the cache: of each site its converted pages, and pages.txt, which names them
"""


checkpoint list_sections:
    """Find the evaluations of whose kind the archive has runs."""
    input:
        "<results>/tables/raw_files/archive.parquet",
        "<results>/tables/rejects/archive.parquet",
        batches="<results>/batches.txt",
        evaluations=ancient([EVALUATION_FILES[name] for name in SECTIONS]),
        queries=list_section_queries,
        sql=[name_query(name) for name in SHARED_QUERIES],
    output:
        sections="<results>/sections.txt",
    log:
        "<logs>/list_sections.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("list_sections"),
        declared=[describe(name, VIEWED_PARTS) for name in SECTIONS],
        tables=RESULTS / "tables",
    shell:
        """
        python -m ccreport list_sections \
            --batches {input.batches:q} \
            --tables {params.tables:q} \
            --evaluations {input.evaluations:q} \
            --sections {output.sections:q} \
            &>{log:q}
        """


rule render_fragments:
    """Write all that the pages include: facts, ledger, tables, figures, comparisons, dictionary, provenance."""
    input:
        list_schemas,
        "<results>/tables/raw_files/archive.parquet",
        "<results>/tables/rejects/archive.parquet",
        "<results>/tables/suspects/archive.parquet",
        batches="<results>/batches.txt",
        archive="<results>/archive.json",
        evaluation=find_evaluation,
        summaries=list_summaries,
        figures="<results>/{evaluation}/figures",
        first_page="<results>/{evaluation}/first_page",
        reproduction="<results>/{evaluation}/reproduction.parquet",
        claims="<results>/{evaluation}/claims.parquet",
        explanations=config["explanations"] or [],
        citation="CITATION.cff",
        database="<results>/{evaluation}/archive.duckdb",
        schema="schemas/explanations.schema.yaml",
    output:
        fragments=directory("<results>/{evaluation}/fragments"),
    log:
        "<logs>/{evaluation}/render_fragments.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("render_fragments", *list_tables()),
        # The methods page lists the assumptions of all modules, the tables page shows the queries.
        package=digest_package("*.py", "*.sql"),
        summaries=find_summaries,
        tables=RESULTS / "tables",
        config=CONFIG_TEXT,
    shell:
        """
        python -m ccreport render_fragments \
            --batches {input.batches:q} \
            --tables {params.tables:q} \
            --archive {input.archive:q} \
            --config {params.config:q} \
            --evaluation {input.evaluation:q} \
            --summaries {params.summaries:q} \
            --figures {input.figures:q} \
            --first-page {input.first_page:q} \
            --reproduction {input.reproduction:q} \
            --claims {input.claims:q} \
            --explanations {input.explanations:q} \
            --citation {input.citation:q} \
            --database {input.database:q} \
            --fragments {output.fragments:q} \
            &>{log:q}
        """


rule render_report:
    """Render the pages with Quarto, or with the embedded renderer, and make them searchable."""
    input:
        tables=list_site_tables,
        figures=find_in_site("figures", "first_page"),
        fragments=find_in_site("fragments"),
        cells=find_in_site("cells"),
        explorer=find_explorer,
        performance="<results>/performance",
        reference="<results>/reference",
        changes=find_changes,
        files=find_in_site(
            "report.pdf", "supplement.pdf", "reproduction.csv", "claims.csv"
        ),
        sections=list_section_pages,
        pages=collect("reports/{page}", page=REPORT_SOURCES),
        pictures="reports/kinds",
        templates=list_package_files("*.lua", "*.html", "*.css", "report/*/*.js"),
    output:
        index=update("<results>/{site}/index.html"),
        # Where the job fails the old pages stay and this goes. Snakemake must not know of the converted pages beside it.
        cache="<results>/converted/{site}/pages.txt",
    log:
        "<logs>/{site}/render_report.txt",
    conda:
        "../environment.yml"
    params:
        code=digest_sources("render_report"),
        summaries=find_in_site("summaries"),
        renderer=config["report"]["renderer"],
        sources=Path("reports"),
        explorer=find_explorer_folder,
        sections=find_section_folders,
        converted=RESULTS / "converted",
        output=find_site,
    shell:
        """
        python -m ccreport render_report \
            --renderer {params.renderer:q} \
            --sources {params.sources:q} \
            --fragments {input.fragments:q} \
            --tables {params.summaries:q} \
            --figures {input.figures:q} \
            --cells {input.cells:q} \
            --explorer {params.explorer:q} \
            --performance {input.performance:q} \
            --reference {input.reference:q} \
            --changes {input.changes:q} \
            --files {input.files:q} \
            --sections {params.sections:q} \
            --kept {params.converted:q}/{wildcards.site:q} \
            --output {params.output:q} \
            &>{log:q}
        """
